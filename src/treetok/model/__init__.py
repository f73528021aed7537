"""The neural model that learns word trees from raw text. The only part of the package that imports PyTorch."""
