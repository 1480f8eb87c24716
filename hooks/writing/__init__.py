"""What authors write: placeholders, claims, tables, tokens and terms, and the HTML that they become."""
