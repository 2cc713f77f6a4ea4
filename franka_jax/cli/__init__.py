"""Parts of the command line: input, output, progress, tables."""
