"""Made-up logs whose causes or phases are known, for tests and `bench/`."""
