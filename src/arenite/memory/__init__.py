"""Plans arenas: buffers with lifetimes in, offsets out. Knows nothing of models."""
