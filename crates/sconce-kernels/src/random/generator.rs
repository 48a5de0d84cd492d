//! PyTorch's CPU random number generator: the Mersenne Twister mt19937, read 24, 32, 53 or 64 bits
//! at a time, with the normal number that Box and Muller's method leaves over.

use sconce_kernel_core::simd::dispatch::dispatch;

/// The seed of a generator that nobody has seeded, `c10::detail::default_rng_seed_val`.
const DEFAULT_SEED: u64 = 67_280_421_310_721;

const WORDS: usize = 624;
const SHIFT: usize = 397;

/// `torch.Generator` of the CPU: equal seeds and equal calls give PyTorch's numbers, bit for bit.
///
/// ```
/// use sconce_kernels::{DType, Generator, Tensor, uniform_in_place};
/// let mut generator = Generator::new(0);
/// let tensor = Tensor::zeros(&[2], DType::Float32)?;
/// uniform_in_place(&tensor, 0.0, 1.0, &mut generator)?;
/// // torch.manual_seed(0); torch.rand(2)
/// assert_eq!(tensor.to_vec::<f32>()?, [0.496_256_6, 0.768_221_8]);
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Generator {
    words: Box<[u32; WORDS]>,
    next: usize,
    seed: u64,
    spare_normal: Option<f64>,
}

impl Default for Generator {
    fn default() -> Self {
        Generator::new(DEFAULT_SEED)
    }
}

impl Generator {
    /// A generator as `torch.manual_seed(seed)` leaves it. Only the low 32 bits of the seed count.
    pub fn new(seed: u64) -> Self {
        let mut words = Box::new([0u32; WORDS]);
        let mut last = seed as u32;
        for (index, word) in words.iter_mut().enumerate() {
            if index > 0 {
                last =
                    1_812_433_253u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(index as u32);
            }
            *word = last;
        }
        Generator { words, next: WORDS, seed, spare_normal: None }
    }

    /// The seed it started from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    fn refill(&mut self) {
        /// Each word from itself, the next one and one that stands far off.
        #[inline(always)]
        fn mix(words: &mut [u32], next: &[u32], far: &[u32]) {
            for ((word, &next), &far) in words.iter_mut().zip(next).zip(far) {
                let mixed = (*word & 0x8000_0000) | (next & 0x7fff_ffff);
                let odd = (mixed & 1).wrapping_neg() & 0x9908_b0df;
                *word = far ^ (mixed >> 1) ^ odd;
            }
        }
        const BEFORE: usize = WORDS - SHIFT;
        dispatch(
            #[inline(always)]
            || {
                let old = *self.words;
                let words = &mut self.words[..];
                mix(&mut words[..BEFORE], &old[1..], &old[SHIFT..]);
                // From here on what is far off is new itself.
                for start in (BEFORE..WORDS - 1).step_by(BEFORE) {
                    let end = (start + BEFORE).min(WORDS - 1);
                    let (new, words) = words.split_at_mut(start);
                    mix(&mut words[..end - start], &old[start + 1..], &new[start - BEFORE..]);
                }
                let (first, far) = (words[0], words[SHIFT - 1]);
                mix(&mut words[WORDS - 1..], &[first], &[far]);
            },
        );
        self.next = 0;
    }

    /// 32 random bits.
    pub fn random(&mut self) -> u32 {
        if self.next >= WORDS {
            self.refill();
        }
        let word = self.words[self.next];
        self.next += 1;
        tempered(word)
    }

    /// Calls `f` with 32 random bits for every number, in order.
    pub(crate) fn fill<T>(&mut self, numbers: &mut [T], f: impl Fn(u32) -> T) {
        let mut rest = numbers;
        while !rest.is_empty() {
            if self.next >= WORDS {
                self.refill();
            }
            let words = &self.words[self.next..];
            let count = words.len().min(rest.len());
            let (now, later) = rest.split_at_mut(count);
            dispatch(
                #[inline(always)]
                || now.iter_mut().zip(words).for_each(|(x, &word)| *x = f(tempered(word))),
            );
            self.next += count;
            rest = later;
        }
    }

    /// [`Generator::uniform_f32`] for every number, in order.
    pub(crate) fn fill_uniform_f32(&mut self, numbers: &mut [f32]) {
        self.fill(numbers, unit_f32);
    }

    /// 64 random bits: the upper half is drawn first.
    pub fn random64(&mut self) -> u64 {
        let upper = u64::from(self.random());
        upper << 32 | u64::from(self.random())
    }

    /// A `float` in [0, 1), a multiple of 2⁻²⁴.
    pub fn uniform_f32(&mut self) -> f32 {
        unit_f32(self.random())
    }

    /// A `double` in [0, 1), a multiple of 2⁻⁵³.
    pub fn uniform(&mut self) -> f64 {
        (self.random64() & ((1 << 53) - 1)) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// A normal number of mean 0 and deviation 1, by Box and Muller's method; every second call
    /// gives what the one before it left over.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        let (u1, u2) = (self.uniform(), self.uniform());
        let radius = (-2.0 * (-u2).ln_1p()).sqrt();
        let angle = std::f64::consts::TAU * u1;
        self.spare_normal = Some(radius * angle.sin());
        radius * angle.cos()
    }
}

#[inline(always)]
fn tempered(mut word: u32) -> u32 {
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c_5680;
    word ^= (word << 15) & 0xefc6_0000;
    word ^ (word >> 18)
}

/// A `float` in [0, 1) of the low 24 bits.
#[inline(always)]
fn unit_f32(bits: u32) -> f32 {
    // What fits 24 bits is no negative number.
    (bits & 0x00ff_ffff) as i32 as f32 * (1.0 / 16_777_216.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_those_of_mt19937() {
        let mut generator = Generator::new(0);
        let drawn: Vec<u32> = (0..4).map(|_| generator.random()).collect();
        assert_eq!(drawn, [2_357_136_044, 2_546_248_239, 3_071_714_933, 3_626_093_760]);
        let mut generator = Generator::new(5489);
        for _ in 0..9999 {
            generator.random();
        }
        // The 10000th number of the reference implementation.
        assert_eq!(generator.random(), 4_123_659_995);
    }

    #[test]
    fn many_numbers_at_once_are_those_drawn_one_by_one() {
        let (mut one, mut many) = (Generator::new(3), Generator::new(3));
        for count in [0, 1, 5, 623, 624, 625, 2000, 3] {
            let mut drawn = vec![0; count];
            many.fill(&mut drawn, |word| word);
            assert!(drawn.iter().all(|&word| word == one.random()), "{count}");
        }
        assert_eq!(one.uniform(), many.uniform());
    }

    #[test]
    fn seeds_count_by_their_low_32_bits() {
        assert_eq!(Generator::new(7).random(), Generator::new(7 + (1 << 32)).random());
    }
}
