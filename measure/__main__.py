"""Entry point of `python -m measure`. Only says what to install where the packages of measuring are missing."""

import sys

try:
    from measure.cli import main
except ModuleNotFoundError as missing:
    if (missing.name or "").split(".")[0] == "measure":
        raise
    print(
        f"error: the package {missing.name!r} is not installed here. Install what measuring needs with\n"
        "  pip install -c requirements.lock --group measure\n"
        "or use `make measure`, which sets up an environment of its own",
        file=sys.stderr,
    )
    raise SystemExit(1) from missing

if __name__ == "__main__":
    raise SystemExit(main())
