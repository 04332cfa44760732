"""Before a run: will it fit, how long will it take, which settings suit the GPU."""
