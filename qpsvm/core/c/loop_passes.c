/* The passes of every level and precision, and the kernel values of every level. */
#include "loop.h"

#define LEVELS_OF "loop_level.h"
#include "levels.h"

#define IN_LEVEL(level)                                                                    \
    {                                                                                      \
        {choose_of_doubles_##level, partner_of_doubles_##level, add_of_doubles_##level},   \
        {choose_of_floats_##level, partner_of_floats_##level, add_of_floats_##level},      \
    }
const Passes loop_passes[3][2] = {
    IN_LEVEL(plain),
#if X86
    IN_LEVEL(avx2),
    IN_LEVEL(avx512),
#endif
};
const Values loop_values[3] = {
    values_plain,
#if X86
    values_avx2,
    values_avx512,
#endif
};
