"""Reading site_data/: the contract, and what the folder holds."""
