"""Entry point of `python -m measure`."""

from measure.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
