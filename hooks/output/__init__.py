"""The files of the finished site: other forms of its pages, and what hosts and checkers ask of it."""
