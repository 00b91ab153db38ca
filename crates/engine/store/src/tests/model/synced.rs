//! The files of a store as the last sync left them, to be put back after a crash: a loss of power
//! that drops all that no sync covered. Names are synced by the operations that change them.

use std::path::{Path, PathBuf};

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn catalog_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().contains("catalog.db")).collect()
}

fn copy_catalog(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    catalog_files(to).iter().for_each(|path| std::fs::remove_file(path).unwrap());
    for path in catalog_files(from) {
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

pub fn put_by(dir: &Path) {
    let synced = dir.join("synced");
    drop(std::fs::remove_dir_all(&synced));
    copy_tree(&dir.join("data"), &synced.join("data"));
    copy_catalog(&dir.join("objects"), &synced.join("objects"));
}

/// Does nothing when nothing was put by yet.
pub fn put_back(dir: &Path) {
    let synced = dir.join("synced");
    if !synced.exists() {
        return;
    }
    std::fs::remove_dir_all(dir.join("data")).unwrap();
    copy_tree(&synced.join("data"), &dir.join("data"));
    copy_catalog(&synced.join("objects"), &dir.join("objects"));
}

fn both(dir: &Path, path: &str) -> [PathBuf; 2] {
    ["", "-wal"].map(|suffix| dir.join("synced/data").join(format!("{path}{suffix}")))
}

pub fn remove(dir: &Path, path: &str) {
    both(dir, path).iter().for_each(|file| drop(std::fs::remove_file(file)));
}

pub fn rename(dir: &Path, from: &str, to: &str) {
    for (from, to) in both(dir, from).iter().zip(both(dir, to)) {
        if from.exists() {
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::rename(from, to).unwrap();
        }
    }
}

/// A file was put into its place whole and synced.
pub fn replaced(dir: &Path, path: &str) {
    if !dir.join("synced").exists() {
        return;
    }
    remove(dir, path);
    let [file, _] = both(dir, path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::copy(dir.join("data").join(path), file).unwrap();
}
