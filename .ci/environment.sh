# For the scripts beside it: a temporary folder `work` that goes when they end, and fresh virtual environments in it.
# PYTHON names the interpreter, python3 where it is not set.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# make_environment NAME: a virtual environment; prints the folder of its commands, which Windows calls otherwise.
make_environment() {
  "${PYTHON:-python3}" -m venv "$work/$1"
  if [ -d "$work/$1/Scripts" ]; then echo "$work/$1/Scripts"; else echo "$work/$1/bin"; fi
}

# install PYTHON ARGUMENTS...: as `pip install`, by uv, which takes a fifth of the time; by pip where uv cannot.
install() {
  local into=$1
  shift
  if ! command -v uv > "$work/found" && [ ! -d "$work/uv" ]; then
    "$into" -m pip install -q --target "$work/uv" uv > "$work/found" 2>&1 || mkdir -p "$work/uv"
  fi
  PATH="$work/uv/bin:$PATH" uv pip install -q --python "$into" "$@" 2> "$work/found" || "$into" -m pip install -q "$@"
}
