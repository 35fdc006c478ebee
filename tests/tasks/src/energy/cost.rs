//! What joules and capacity come to: grams of CO₂e, and servers.
//!
//! CO₂e by the Software Carbon Intensity specification (SCI, ISO/IEC 21031): SCI = ((E × I) + M) per R, with the energy E in
//! kWh, the intensity I of the grid in g/kWh, the share M of what making the hardware took, and the functional unit R, here a
//! million requests.

use workshop_suites::forms::energy::Hardware;

/// The functional unit.
pub const REQUESTS: f64 = 1e6;
const JOULES_PER_KWH: f64 = 3.6e6;
const SECONDS_PER_YEAR: f64 = 365.25 * 24.0 * 3600.0;

/// E × I, in grams.
pub fn grams(joules: f64, intensity: f64) -> f64 {
    joules / JOULES_PER_KWH * intensity
}

/// The joules of so many servers per million requests, of which so many come per second, if each takes so many watts.
pub fn joules_of(servers: f64, watts: f64, rate: f64) -> f64 {
    servers * watts * REQUESTS / rate
}

/// M per million requests, in grams: the servers' share for the time in which a million requests come.
pub fn hardware_grams(servers: f64, hardware: Hardware, rate: f64) -> f64 {
    let per_second = hardware.embodied * 1e3 / (hardware.years * SECONDS_PER_YEAR);
    servers * per_second * REQUESTS / rate
}

/// How many servers carry a rate, before rounding up, if one carries `capacity` requests per second at most and this percentage of
/// it stays free.
pub fn servers(rate: f64, capacity: f64, headroom: f64) -> f64 {
    rate / (capacity * (1.0 - headroom / 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kilowatt_hour_has_the_grams_of_the_grid() {
        assert_eq!(grams(3.6e6, 250.0), 250.0);
        // A millijoule per request is a kilojoule per million.
        assert!((grams(1e3, 360.0) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn a_headroom_of_half_takes_twice_the_servers() {
        assert_eq!(servers(9000.0, 3000.0, 0.0), 3.0);
        assert_eq!(servers(9000.0, 3000.0, 50.0), 6.0);
    }

    #[test]
    fn what_servers_take_is_shared_by_the_requests_of_the_time() {
        // 100 s for a million requests, at 10 000 per second.
        assert_eq!(joules_of(2.0, 30.0, 10_000.0), 6000.0);
        let hardware = Hardware {
            embodied: 1200.0,
            years: 4.0,
        };
        let grams = hardware_grams(2.0, hardware, 10_000.0);
        let by_hand = 2.0 * 1_200_000.0 * 100.0 / (4.0 * 31_557_600.0);
        assert!((grams - by_hand).abs() < 1e-9, "{grams} {by_hand}");
    }
}
