"""What outlives a build, and how it is known to hold still."""
