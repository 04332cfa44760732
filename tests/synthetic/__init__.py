"""Made-up logs whose causes are known, for tests and `bench/causes.py`."""
