// SPDX-License-Identifier: Apache-2.0
//! What an image does with the driver, in the words of `NVIDIA_DRIVER_CAPABILITIES`.

use std::collections::BTreeSet;

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// `compat32`: programs of 32 bits.
    Compat32,
    /// `compute`: CUDA and OpenCL.
    Compute,
    /// `display`: X11 and Wayland.
    Display,
    /// `graphics`: OpenGL and Vulkan.
    Graphics,
    /// `ngx`: NVIDIA's deep learning for pictures.
    Ngx,
    /// `utility`: nvidia-smi and NVML.
    Utility,
    /// `video`: encoding and decoding.
    Video,
}

const WORDS: [(&str, Capability); 7] = [
    ("compat32", Capability::Compat32),
    ("compute", Capability::Compute),
    ("display", Capability::Display),
    ("graphics", Capability::Graphics),
    ("ngx", Capability::Ngx),
    ("utility", Capability::Utility),
    ("video", Capability::Video),
];

/// What an image that says nothing does.
const DEFAULT: [Capability; 2] = [Capability::Compute, Capability::Utility];

/// Reads a list separated by commas: what it names, and the words that name nothing. An empty list is the default.
pub fn read(text: &str) -> (BTreeSet<Capability>, Vec<&str>) {
    let words: Vec<&str> = text
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        return (DEFAULT.into(), Vec::new());
    }
    let (mut set, mut unknown) = (BTreeSet::new(), Vec::new());
    for word in words {
        match WORDS.iter().find(|(known, _)| *known == word) {
            Some((_, capability)) => drop(set.insert(*capability)),
            None if word == "all" => set.extend(WORDS.map(|(_, capability)| capability)),
            None => unknown.push(word),
        }
    }
    (set, unknown)
}

#[cfg(test)]
mod tests {
    use super::Capability::{Compute, Graphics, Utility, Video};
    use super::*;

    #[test]
    fn nothing_said_means_compute_and_utility_and_unknown_words_are_told() {
        for (text, want, unknown) in [
            ("", &[Compute, Utility][..], &[][..]),
            (" , ", &[Compute, Utility], &[]),
            ("compute,utility", &[Compute, Utility], &[]),
            ("utility", &[Utility], &[]),
            ("graphics, video", &[Graphics, Video], &[]),
            ("video,video", &[Video], &[]),
            ("compute,teleport,Compute", &[Compute], &["teleport", "Compute"]),
            ("teleport", &[], &["teleport"]),
        ] {
            let (set, strange) = read(text);
            assert_eq!(
                (set.into_iter().collect::<Vec<_>>(), strange),
                (want.to_vec(), unknown.to_vec()),
                "{text}"
            );
        }
        assert_eq!(read("all").0.len(), WORDS.len());
        assert_eq!(read("utility,all").0.len(), WORDS.len());
    }
}
