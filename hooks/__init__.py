"""Publishing: numbers, claims, charts and tokens in Markdown pages, and the MkDocs hooks. Measures nothing."""
