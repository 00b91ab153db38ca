//! Response times, and what the server and the driver use meanwhile.
