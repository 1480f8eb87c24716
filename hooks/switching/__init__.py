"""The machine switch: which runs a page can speak of, and what of it differs between them."""
