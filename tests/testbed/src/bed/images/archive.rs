// SPDX-License-Identifier: Apache-2.0
//! The two layouts that Mesos 1.11 reads from local files: an archive as `docker save` of old made it (`repositories`, and
//! a folder with manifest, version and archive for each layer), and the folder of an App Container image.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256, Sha512};
use tar::Builder;

use super::layer::write;
use super::{Config, Image};
use crate::error::{Error, Tried};
use crate::image_name::APPC_LABELS;

/// Writes `<folder>/<name>.tar`, or `<name>:<tag>.tar`: Mesos looks for what it was asked for.
pub(super) fn docker(image: &Image, folder: &Path) -> Result<PathBuf, Error> {
    let path = folder.join(format!("{}.tar", image.reference()));
    let tried = || format!("write the image {}", path.display());
    fs::create_dir_all(path.parent().unwrap_or(folder)).tried(tried)?;
    let mut archive = Builder::new(Vec::new());
    let mut top: Option<String> = None;
    for (number, layer) in image.layers.iter().enumerate() {
        let content = layer.archive()?;
        let config = image.config.as_ref().filter(|_| number + 1 == image.layers.len());
        let manifest = manifest(top.as_deref(), config);
        // Agents keep layers by these names, so different ones must differ.
        let mut digest = Sha256::new();
        digest.update(manifest.to_string());
        digest.update(&content);
        let id = hex(&digest.finalize());
        let mut manifest = manifest;
        manifest["id"] = json!(id);
        let mut add =
            |name: &str, content: &[u8]| write(&mut archive, &format!("{id}/{name}"), content, 0o644);
        add("VERSION", b"1.0").tried(tried)?;
        add("json", manifest.to_string().as_bytes()).tried(tried)?;
        add("layer.tar", &content).tried(tried)?;
        top = Some(id);
    }
    let tag = image.tag.as_deref().unwrap_or("latest");
    let repositories = json!({ &image.name: { tag: top } }).to_string();
    write(&mut archive, "repositories", repositories.as_bytes(), 0o644).tried(tried)?;
    let content = archive.into_inner().tried(tried)?;
    fs::write(&path, content).tried(tried)?;
    Ok(path)
}

fn manifest(parent: Option<&str>, config: Option<&Config>) -> Value {
    let mut manifest = json!({"created": "2020-01-01T00:00:00Z", "architecture": "amd64", "os": "linux"});
    if let Some(parent) = parent {
        manifest["parent"] = json!(parent);
    }
    if let Some(config) = config {
        manifest["config"] = json!({"Env": config.env, "Labels": config.labels});
        if let Some(folder) = &config.working_directory {
            manifest["config"]["WorkingDir"] = json!(folder);
        }
    }
    manifest
}

/// Makes `<store>/images/<id>` with `manifest` and `rootfs`.
pub(super) fn appc(image: &Image, store: &Path) -> Result<PathBuf, Error> {
    let labels: Vec<_> = APPC_LABELS
        .iter()
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    let manifest =
        json!({"acKind": "ImageManifest", "acVersion": "0.6.1", "name": image.name, "labels": labels});
    let id = format!("sha512-{}", hex(&Sha512::digest(manifest.to_string())));
    let folder = store.join("images").join(id);
    let tried = || format!("write the image {}", folder.display());
    image.unpack(&folder.join("rootfs"))?;
    fs::write(folder.join("manifest"), manifest.to_string()).tried(tried)?;
    Ok(folder.join("rootfs"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::io::Read;

    fn read(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut archive = tar::Archive::new(archive);
        let entries = archive.entries().unwrap().map(|entry| {
            let mut entry = entry.unwrap();
            let (path, mut content) = (entry.path().unwrap().display().to_string(), Vec::new());
            entry.read_to_end(&mut content).unwrap();
            (path, content)
        });
        entries.collect()
    }

    #[test]
    fn layers_name_their_parents_and_the_top_one_has_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let image = Image::new("probe")
            .env("A=b")
            .file("/etc/x", "1", 0o600)
            .layer()
            .link("usr/y", "/etc/x");
        let path = image.write_to(folder.path()).unwrap();
        assert_eq!(path, folder.path().join("probe.tar"));
        let files = read(&fs::read(&path).unwrap());
        let json = |name: &str| serde_json::from_slice::<Value>(&files[name]).unwrap();
        let top = json("repositories")["probe"]["latest"]
            .as_str()
            .unwrap()
            .to_owned();
        let above = json(&format!("{top}/json"));
        assert_eq!(above["config"]["Env"], json!(["A=b"]));
        let parent = above["parent"].as_str().unwrap();
        assert!(json(&format!("{parent}/json")).get("config").is_none());
        assert_eq!(read(&files[&format!("{parent}/layer.tar")])["etc/x"], b"1");
        assert_eq!(files.len(), 1 + 2 * 3);
    }

    #[test]
    fn a_tag_is_part_of_the_name_and_a_configuration_can_be_missing() {
        let folder = tempfile::tempdir().unwrap();
        let image = Image::new("team/probe").tag("2").without_config();
        let path = image.write_to(folder.path()).unwrap();
        assert!(path.ends_with("team/probe:2.tar"));
        let files = read(&fs::read(&path).unwrap());
        let (_, manifest) = files.iter().find(|(name, _)| name.ends_with("/json")).unwrap();
        assert!(
            serde_json::from_slice::<Value>(manifest)
                .unwrap()
                .get("config")
                .is_none()
        );
    }

    #[test]
    fn an_unpacked_image_has_its_links_and_modes() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let image = Image::new("example.com/x")
            .folder("tmp", 0o777)
            .link("etc", "/nowhere")
            .file("a/b", "1", 0o640);
        let root = image.write_appc(folder.path()).unwrap();
        assert_eq!(fs::read_link(root.join("etc")).unwrap(), Path::new("/nowhere"));
        let mode = |file: &str| fs::metadata(root.join(file)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("tmp"), mode("a/b")), (0o777, 0o640));
        assert!(root.with_file_name("manifest").is_file());
    }
}
