//! Where storages are put when they are loaded: `map_location` and the registry of devices.
//!
//! sconce keeps every byte in the memory of the CPU, so to put a storage on a device is to label it.

use std::fmt;
use std::sync::Arc;

use sconce_tensor::{Device, DeviceKind, Storage};

/// Gives a storage another place, or `None` to leave the choice to its location tag.
pub type MapStorage = Arc<dyn Fn(&Storage, &str) -> Option<Storage> + Send + Sync>;

/// Says where a storage is, or `None` for one that it does not know.
pub type Tagger = Arc<dyn Fn(&Storage) -> Option<String> + Send + Sync>;

/// Where the storages of a checkpoint go: the argument `map_location` of `torch.load`.
#[derive(Clone, Default)]
pub enum MapLocation {
    /// Where each storage was when it was saved.
    #[default]
    Default,
    /// All to one device.
    Device(Device),
    /// From one location tag to another; tags that are not in the map stay. The last pair of a tag
    /// counts, as in a Python dict.
    Map(Vec<(String, String)>),
    /// What the function says for the storage and its tag; where it gives `None`, as
    /// [`MapLocation::Default`].
    With(MapStorage),
}

impl fmt::Debug for MapLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MapLocation::Default => f.write_str("Default"),
            MapLocation::Device(device) => write!(f, "Device({device})"),
            MapLocation::Map(pairs) => f.debug_tuple("Map").field(pairs).finish(),
            MapLocation::With(_) => f.write_str("With(..)"),
        }
    }
}

/// The back ends whose tags are `name` and `name:N`, with their priorities.
static BACKENDS: [(i64, DeviceKind); 5] = [
    (20, DeviceKind::Cuda),
    (23, DeviceKind::PrivateUse1),
    (24, DeviceKind::Hpu),
    (25, DeviceKind::Xpu),
    (26, DeviceKind::Mtia),
];

/// One back end of [`LocationRegistry`].
#[derive(Clone)]
struct Package {
    priority: i64,
    tagger: Tagger,
    deserializer: MapStorage,
}

/// How location tags are read and written: `torch.serialization.register_package`, as a value.
///
/// Back ends are asked in ascending order of priority, and the first answer counts. The default has
/// PyTorch's eight: 10 `cpu`, 20 `cuda`, 21 `mps`, 22 `meta`, 23 `privateuseone`, 24 `hpu`, 25 `xpu`
/// and 26 `mtia`.
#[derive(Clone)]
pub struct LocationRegistry {
    packages: Vec<Package>,
}

impl LocationRegistry {
    /// Adds a back end. Among equal priorities the first registered is asked first.
    ///
    /// `tagger` gives the location tag of a storage, for writing; `deserializer` puts a storage where
    /// a tag says, or gives `None` when the tag is none of its own.
    pub fn register_package(
        &mut self,
        priority: i64,
        tagger: impl Fn(&Storage) -> Option<String> + Send + Sync + 'static,
        deserializer: impl Fn(&Storage, &str) -> Option<Storage> + Send + Sync + 'static,
    ) -> &mut LocationRegistry {
        let package =
            Package { priority, tagger: Arc::new(tagger), deserializer: Arc::new(deserializer) };
        let at = self.packages.partition_point(|other| other.priority <= priority);
        self.packages.insert(at, package);
        self
    }

    /// The location tag of a storage: `torch.serialization.location_tag`. `None` when no back end
    /// knows its device.
    pub fn tag(&self, storage: &Storage) -> Option<String> {
        let mut tags = self.packages.iter().filter_map(|package| (package.tagger)(storage));
        tags.find(|tag| !tag.is_empty())
    }

    /// Puts a storage that was tagged with `tag` where `map` says.
    ///
    /// # Errors
    /// PyTorch's message, when no back end knows the location.
    pub fn restore(
        &self,
        storage: Storage,
        tag: &str,
        map: &MapLocation,
    ) -> Result<Storage, String> {
        match map {
            MapLocation::Default => self.deserialize(storage, tag),
            MapLocation::Device(device) => self.deserialize(storage, &device.location()),
            MapLocation::Map(pairs) => {
                let mapped = pairs.iter().rev().find(|(from, _)| from == tag);
                self.deserialize(storage, mapped.map_or(tag, |(_, to)| to))
            }
            MapLocation::With(choose) => match choose(&storage, tag) {
                Some(storage) => Ok(storage),
                None => self.deserialize(storage, tag),
            },
        }
    }

    /// `torch.serialization.default_restore_location`.
    fn deserialize(&self, storage: Storage, location: &str) -> Result<Storage, String> {
        let mut found =
            self.packages.iter().filter_map(|package| (package.deserializer)(&storage, location));
        found.next().ok_or_else(|| {
            if BACKENDS.iter().any(|(_, kind)| is_tag_of(location, kind.name())) {
                return format!("Invalid device string: '{location}'");
            }
            format!(
                "don't know how to restore data location of torch.storage.UntypedStorage \
                 (tagged with {location})"
            )
        })
    }
}

impl Default for LocationRegistry {
    fn default() -> LocationRegistry {
        let mut registry = LocationRegistry { packages: Vec::new() };
        registry
            .register_package(
                10,
                |storage| storage.device().is_cpu().then(|| "cpu".to_owned()),
                |storage, location| (location == "cpu").then(|| labelled(storage, Device::CPU)),
            )
            .register_package(
                21,
                |storage| (storage.device().kind == DeviceKind::Mps).then(|| "mps".to_owned()),
                |storage, location| {
                    let device = Device::new(DeviceKind::Mps, Some(0));
                    location.starts_with("mps").then(|| labelled(storage, device))
                },
            )
            .register_package(
                22,
                |storage| storage.device().is_meta().then(|| "meta".to_owned()),
                |storage, location| (location == "meta").then(|| Storage::meta(storage.nbytes())),
            );
        for (priority, kind) in &BACKENDS {
            registry.register_backend(*priority, kind.clone());
        }
        registry
    }
}

impl LocationRegistry {
    /// A back end whose tags are `name` (its first device) and `name:N`.
    fn register_backend(&mut self, priority: i64, kind: DeviceKind) {
        let of_tag = kind.clone();
        self.register_package(
            priority,
            move |storage| {
                (storage.device().kind == kind).then(|| storage.device().location().into_owned())
            },
            move |storage, location| {
                let device = location.parse::<Device>().ok()?;
                let index = device.index.unwrap_or(0);
                (device.kind == of_tag)
                    .then(|| labelled(storage, Device::new(device.kind, Some(index))))
            },
        );
    }
}

impl fmt::Debug for LocationRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.packages.iter().map(|package| package.priority)).finish()
    }
}

/// The storage itself where it has the label already, so that it keeps its identity.
fn labelled(storage: &Storage, device: Device) -> Storage {
    if *storage.device() == device { storage.clone() } else { storage.to_device_tag(device) }
}

/// Whether a tag begins as those of a back end do; it may still be no device.
fn is_tag_of(tag: &str, backend: &str) -> bool {
    tag.strip_prefix(backend)
        .and_then(|rest| rest.bytes().next())
        .is_some_and(|byte| byte == b':' || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn storage() -> Storage {
        Storage::from_bytes(vec![1u8, 2, 3].into(), Device::CPU)
    }

    #[test]
    fn tags_are_restored_as_torch_does() {
        let unknown = "don't know how to restore data location of torch.storage.UntypedStorage \
                       (tagged with ";
        let cases = [
            ("cpu", Ok("cpu")),
            ("cuda", Ok("cuda:0")),
            ("cuda:3", Ok("cuda:3")),
            ("mps", Ok("mps:0")),
            ("mpsx", Ok("mps:0")),
            ("meta", Ok("meta")),
            ("privateuseone:1", Ok("privateuseone:1")),
            ("hpu", Ok("hpu:0")),
            ("xpu:2", Ok("xpu:2")),
            ("mtia", Ok("mtia:0")),
            ("cuda0", Err("Invalid device string: 'cuda0'".to_owned())),
            ("cuda:", Err("Invalid device string: 'cuda:'".to_owned())),
            ("xpu3y", Err("Invalid device string: 'xpu3y'".to_owned())),
            ("cpu:0", Err(format!("{unknown}cpu:0)"))),
            ("cudax", Err(format!("{unknown}cudax)"))),
            ("meta:0", Err(format!("{unknown}meta:0)"))),
            ("npu:0", Err(format!("{unknown}npu:0)"))),
            ("", Err(format!("{unknown})"))),
        ];
        let registry = LocationRegistry::default();
        for (tag, want) in cases {
            let found = registry.restore(storage(), tag, &MapLocation::Default);
            let found = found.map(|storage| storage.device().to_string());
            assert_eq!(found, want.map(str::to_owned), "{tag}");
        }
    }

    #[test]
    fn meta_drops_the_data_and_others_keep_it() {
        let registry = LocationRegistry::default();
        let to = |device| MapLocation::Device(device);
        let meta = registry.restore(storage(), "cuda:0", &to(Device::META)).unwrap();
        assert_eq!((meta.has_data(), meta.nbytes()), (false, 3));
        let cuda = registry.restore(storage(), "cpu", &to("cuda:1".parse().unwrap())).unwrap();
        assert_eq!(cuda.data().unwrap(), [1, 2, 3]);
        let same = storage();
        let cpu = registry.restore(same.clone(), "cuda:5", &to(Device::CPU)).unwrap();
        assert!(cpu.ptr_eq(&same), "no new identity without a new label");
    }

    #[test]
    fn maps_and_functions_choose() {
        let registry = LocationRegistry::default();
        let pairs = [("cuda:0", "cuda:1"), ("cuda:1", "cpu"), ("cuda:1", "meta"), ("npu:0", "cpu")];
        let pairs = pairs.map(|(from, to)| (from.to_owned(), to.to_owned())).to_vec();
        let map = MapLocation::Map(pairs);
        for (tag, want) in
            [("cuda:0", "cuda:1"), ("cuda:1", "meta"), ("cuda:2", "cuda:2"), ("npu:0", "cpu")]
        {
            let found = registry.restore(storage(), tag, &map).unwrap();
            assert_eq!(found.device().to_string(), want, "{tag}");
        }
        let with = MapLocation::With(Arc::new(|storage, tag| {
            (tag == "x").then(|| storage.to_device_tag(Device::from_location("tpu:9")))
        }));
        let found = registry.restore(storage(), "x", &with).unwrap();
        assert_eq!(found.device().to_string(), "tpu:9");
        let found = registry.restore(storage(), "cuda:2", &with).unwrap();
        assert_eq!(found.device().to_string(), "cuda:2");
        assert_eq!(format!("{with:?} {:?}", MapLocation::default()), "With(..) Default");
    }

    #[test]
    fn tags_are_written_as_torch_does() {
        let registry = LocationRegistry::default();
        for (device, want) in [
            ("cpu", Some("cpu")),
            ("cpu:0", Some("cpu")),
            ("cuda:1", Some("cuda:1")),
            ("cuda", Some("cuda")),
            ("mps:0", Some("mps")),
            ("meta", Some("meta")),
            ("privateuseone:0", Some("privateuseone:0")),
            ("npu:0", None),
            ("vulkan", None),
        ] {
            let storage = storage().to_device_tag(Device::from_location(device));
            assert_eq!(registry.tag(&storage).as_deref(), want, "{device}");
        }
    }

    #[test]
    fn registered_back_ends_are_asked_in_order() {
        let mut registry = LocationRegistry::default();
        let npu = |storage: &Storage, tag: &str| {
            (tag == "cpu" || tag.starts_with("npu"))
                .then(|| storage.to_device_tag(Device::from_location("npu:0")))
        };
        registry.register_package(15, |_| Some("npu".to_owned()), npu);
        let to = |registry: &LocationRegistry, tag| {
            let found = registry.restore(storage(), tag, &MapLocation::Default).unwrap();
            found.device().to_string()
        };
        assert_eq!((to(&registry, "cpu"), to(&registry, "npu:3")), ("cpu".into(), "npu:0".into()));
        assert_eq!(registry.tag(&storage()).as_deref(), Some("cpu"));
        registry.register_package(5, |_| Some("npu".to_owned()), npu);
        assert_eq!(to(&registry, "cpu"), "npu:0");
        assert_eq!(registry.tag(&storage()).as_deref(), Some("npu"));
    }
}
