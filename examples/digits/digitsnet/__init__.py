"""A small convolutional network for 8x8 digits: data, layers, training, quantisation, export."""
