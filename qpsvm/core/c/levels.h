/* Includes LEVELS_OF, a file in quotes, once for each level of instructions: without a guard, as often as there are such. */
#define LEVEL 0
#include LEVELS_OF
#if X86
#undef LEVEL
#define LEVEL 1
#include LEVELS_OF
#undef LEVEL
#define LEVEL 2
#include LEVELS_OF
#endif
