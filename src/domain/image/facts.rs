// SPDX-License-Identifier: Apache-2.0
//! What the machine has of the things that an image can require. What is not known is none, and holds nobody up.

use super::version::Version;

/// The machine, for the GPUs that a container gets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The newest CUDA that the driver supports, for example `13.0`.
    pub cuda: Option<String>,
    /// The driver's version.
    pub driver: Option<String>,
    /// The brands of the GPUs, in NVIDIA's spelling for requirements, for example `tesla`; empty where one is not known.
    pub brands: Vec<String>,
    /// The lowest compute capability of the GPUs, for example `9.0`.
    pub arch: Option<String>,
}

/// Which CUDA a driver's release family came with. NVIDIA changes it with the family and never inside one.
const CUDA_OF: [(u64, &str); 26] = [
    (410, "10.0"),
    (418, "10.1"),
    (430, "10.1"),
    (435, "10.1"),
    (440, "10.2"),
    (450, "11.0"),
    (455, "11.1"),
    (460, "11.2"),
    (465, "11.3"),
    (470, "11.4"),
    (495, "11.5"),
    (510, "11.6"),
    (515, "11.7"),
    (520, "11.8"),
    (525, "12.0"),
    (530, "12.1"),
    (535, "12.2"),
    (545, "12.3"),
    (550, "12.4"),
    (555, "12.5"),
    (560, "12.6"),
    (565, "12.7"),
    (570, "12.8"),
    (575, "12.9"),
    (580, "13.0"),
    (590, "13.1"),
];

impl Facts {
    /// What follows from the driver's version and the names of the GPUs, so that nothing has to be asked of NVML, which
    /// may hang.
    pub fn of(driver: Option<&str>, models: &[String]) -> Self {
        let family = driver.and_then(Version::parse).map(|version| version.major());
        let cuda = CUDA_OF.iter().find(|(known, _)| Some(*known) == family);
        let brands: Option<Vec<String>> = models
            .iter()
            .map(|model| brand_of(model).map(str::to_owned))
            .collect();
        let mut brands = brands.unwrap_or_default();
        brands.sort();
        brands.dedup();
        Self {
            cuda: cuda.map(|(_, cuda)| (*cuda).to_owned()),
            driver: driver.map(str::to_owned),
            brands,
            arch: None,
        }
    }

    /// All of it in words.
    pub(super) fn in_words(&self) -> String {
        let mut words = Vec::new();
        words.extend(self.driver.as_ref().map(|version| format!("driver {version}")));
        words.extend(self.cuda.as_ref().map(|version| format!("CUDA {version}")));
        if !self.brands.is_empty() {
            words.push(format!("GPUs of brand {}", self.brands.join(" and ")));
        }
        words.extend(
            self.arch
                .as_ref()
                .map(|arch| format!("compute capability {arch}")),
        );
        words.join(", ")
    }
}

/// The brand of a GPU by its name, where the name tells.
pub fn brand_of(model: &str) -> Option<&'static str> {
    let name = model.trim();
    let plain = name.strip_prefix("NVIDIA ").unwrap_or(name);
    let by_word = [
        ("GeForce", "geforce"),
        ("TITAN", "titan"),
        ("Quadro RTX", "quadrortx"),
        ("Quadro", "quadro"),
        ("Tesla", "tesla"),
        ("GRID", "grid"),
        ("NVS", "nvs"),
        ("RTX", "nvidiartx"),
    ];
    let word = by_word.iter().find(|(word, _)| plain.starts_with(word));
    word.map(|(_, brand)| *brand).or_else(|| {
        // GPUs for data centres since the A100 are called by letter and number alone: A100, H200, L40S, GH200.
        let number = plain.trim_start_matches(|c: char| c.is_ascii_uppercase());
        let letters = &plain[..plain.len() - number.len()];
        let data_centre = ["A", "B", "GB", "GH", "H", "L"].contains(&letters);
        let numbered = number.starts_with(|c: char| c.is_ascii_digit());
        (data_centre && numbered && plain != name).then_some("nvidia")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpus_name_tells_its_brand_or_nothing() {
        for (model, brand) in [
            ("NVIDIA H200", Some("nvidia")),
            ("NVIDIA A100-SXM4-80GB", Some("nvidia")),
            ("NVIDIA L40S", Some("nvidia")),
            ("NVIDIA GH200 480GB", Some("nvidia")),
            ("NVIDIA H200 MIG 1g.18gb", Some("nvidia")),
            ("Tesla V100-SXM2-32GB", Some("tesla")),
            ("NVIDIA GeForce RTX 3090", Some("geforce")),
            ("GeForce GTX 1080", Some("geforce")),
            ("NVIDIA TITAN V", Some("titan")),
            ("NVIDIA RTX A6000", Some("nvidiartx")),
            ("Quadro RTX 8000", Some("quadrortx")),
            ("Quadro P2000", Some("quadro")),
            ("GRID T4-8Q", Some("grid")),
            ("NVIDIA T1000", None),
            ("NVIDIA Graphics Device", None),
            ("NVIDIA ", None),
            ("H200", None),
            ("", None),
        ] {
            assert_eq!(brand_of(model), brand, "{model}");
        }
    }

    #[test]
    fn cuda_follows_from_the_drivers_family_and_an_unknown_one_is_not_guessed() {
        for (driver, cuda) in [
            (Some("580.159.04"), Some("13.0")),
            (Some("535.129.03"), Some("12.2")),
            (Some("470.57.02"), Some("11.4")),
            (Some("999.1"), None),
            (Some("unknown"), None),
            (None, None),
        ] {
            let facts = Facts::of(driver, &[]);
            assert_eq!((facts.cuda.as_deref(), facts.driver.as_deref()), (cuda, driver));
        }
        assert!(CUDA_OF.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn one_gpu_of_unknown_brand_makes_the_brand_unknown() {
        let models = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let both = models(&["Tesla T4", "NVIDIA H200", "Tesla T4"]);
        assert_eq!(Facts::of(None, &both).brands, ["nvidia", "tesla"]);
        assert!(Facts::of(None, &models(&["Tesla T4", "?"])).brands.is_empty());
    }
}
