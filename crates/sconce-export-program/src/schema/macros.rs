//! How structures, unions and enums are declared: once, for reading and writing.

/// A structure: an object whose keys are fields. `= value` is what a field that is absent has.
macro_rules! structure {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$field_meta:meta])* $field:ident $key:literal: $type:ty $(= $default:expr)?;)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
            /// Keys that are not known here, as they stand in the file.
            pub extra: $crate::schema::Extra,
        }

        impl $crate::schema::read::Value for $name {
            fn read(
                json: $crate::json::Json,
                at: &$crate::schema::read::Place<'_>,
            ) -> Result<Self, $crate::Error> {
                $(let mut $field: Option<$type> = None;)*
                let mut extra = Vec::new();
                for (key, value) in $crate::schema::read::entries(json, stringify!($name), at)? {
                    match &*key {
                        $($key => {
                            let read = $crate::schema::read::Value::read(value, &at.key($key))?;
                            $field = Some(read);
                        })*
                        _ => extra.push((key, value)),
                    }
                }
                Ok($name {
                    $($field: match $field {
                        Some(value) => value,
                        None => structure!(@absent $name, $key, at $(, $default)?),
                    },)*
                    extra,
                })
            }

            fn write(&self, out: &mut $crate::json::Writer) {
                out.open('{');
                $(
                    out.key($key);
                    $crate::schema::read::Value::write(&self.$field, out);
                )*
                if !out.leaves_out_unknown() {
                    for (key, value) in &self.extra {
                        out.key(key);
                        out.json(value);
                    }
                }
                out.close('}');
            }
        }
    };
    (@absent $name:ident, $key:literal, $at:ident, $default:expr) => { $default };
    (@absent $name:ident, $key:literal, $at:ident) => {
        return Err($at.error(concat!(stringify!($name), " has no \"", $key, "\"")))
    };
}

/// A union: an object with one key, which says what the value is.
macro_rules! tagged {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident $key:literal: $type:ty;)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            $($(#[$variant_meta])* $variant($type),)*
        }

        impl $name {
            /// The key that stands for it in the JSON.
            pub fn tag(&self) -> &'static str {
                match self { $($name::$variant(_) => $key,)* }
            }
        }

        impl $crate::schema::read::Value for $name {
            fn read(
                json: $crate::json::Json,
                at: &$crate::schema::read::Place<'_>,
            ) -> Result<Self, $crate::Error> {
                let (tag, value) = $crate::schema::read::only_entry(json, stringify!($name), at)?;
                match &*tag {
                    $($key => {
                        let read = $crate::schema::read::Value::read(value, &at.key($key))?;
                        Ok($name::$variant(read))
                    })*
                    _ => Err($crate::schema::read::unknown_tag(stringify!($name), &tag, at)),
                }
            }

            fn write(&self, out: &mut $crate::json::Writer) {
                out.open('{');
                match self {
                    $($name::$variant(value) => {
                        out.key($key);
                        $crate::schema::read::Value::write(value, out);
                    })*
                }
                out.close('}');
            }
        }
    };
}

/// An enum: a number of its own.
macro_rules! numbered {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident $number:literal $(or $old:literal)?;)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_meta])* $variant = $number,)*
        }

        impl $name {
            /// The number that stands for it in the file.
            pub fn number(self) -> i64 {
                self as i64
            }

            /// What a number of the file stands for; numbers of older minor versions included.
            pub fn from_number(number: i64) -> Option<Self> {
                match number {
                    $($number $(| $old)? => Some($name::$variant),)*
                    _ => None,
                }
            }
        }

        impl $crate::schema::read::Value for $name {
            fn read(
                json: $crate::json::Json,
                at: &$crate::schema::read::Place<'_>,
            ) -> Result<Self, $crate::Error> {
                let number = <i64 as $crate::schema::read::Value>::read(json, at)?;
                $name::from_number(number).ok_or_else(|| {
                    at.error(format!("{number} is not a {}", stringify!($name)))
                })
            }

            fn write(&self, out: &mut $crate::json::Writer) {
                out.int(self.number());
            }
        }
    };
}

pub(super) use {numbered, structure, tagged};
