//! Published results of other servers on other machines.
