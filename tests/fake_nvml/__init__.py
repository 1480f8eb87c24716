"""A fake NVML driver for tests; fake_driver.py builds it, fake_nvml.c lists what it can play."""
