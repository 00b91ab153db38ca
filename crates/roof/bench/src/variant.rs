//! Changes of the server and of the load beside the workload.
