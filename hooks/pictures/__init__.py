"""Charts and cards as pictures: painted beside the build, put into figures, interactive on demand."""
