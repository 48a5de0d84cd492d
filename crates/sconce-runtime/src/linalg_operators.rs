//! Which operators belong to the feature `linalg`, so that a build without it can say so.

/// The operators of the tables in `ops/linalg/`, in their order.
pub(crate) const SYMBOLS: &[&str] = &[
    "aten::_fft_c2c",
    "aten::_fft_c2r",
    "aten::_fft_r2c",
    "aten::_linalg_check_errors",
    "aten::_linalg_det",
    "aten::_linalg_eigh",
    "aten::_linalg_eigvals",
    "aten::_linalg_slogdet",
    "aten::_linalg_solve_ex",
    "aten::_linalg_svd",
    "aten::_lu_with_info",
    "aten::cholesky_inverse",
    "aten::cholesky_solve",
    "aten::det",
    "aten::fft_fft",
    "aten::fft_fft2",
    "aten::fft_fftfreq",
    "aten::fft_fftn",
    "aten::fft_fftshift",
    "aten::fft_hfft",
    "aten::fft_hfft2",
    "aten::fft_hfftn",
    "aten::fft_ifft",
    "aten::fft_ifft2",
    "aten::fft_ifftn",
    "aten::fft_ifftshift",
    "aten::fft_ihfft",
    "aten::fft_ihfft2",
    "aten::fft_ihfftn",
    "aten::fft_irfft",
    "aten::fft_irfft2",
    "aten::fft_irfftn",
    "aten::fft_rfft",
    "aten::fft_rfft2",
    "aten::fft_rfftfreq",
    "aten::fft_rfftn",
    "aten::geqrf",
    "aten::inverse",
    "aten::istft",
    "aten::linalg_cholesky",
    "aten::linalg_cholesky_ex",
    "aten::linalg_cond",
    "aten::linalg_det",
    "aten::linalg_eig",
    "aten::linalg_eigh",
    "aten::linalg_eigvals",
    "aten::linalg_eigvalsh",
    "aten::linalg_householder_product",
    "aten::linalg_inv",
    "aten::linalg_inv_ex",
    "aten::linalg_ldl_factor",
    "aten::linalg_ldl_factor_ex",
    "aten::linalg_ldl_solve",
    "aten::linalg_lstsq",
    "aten::linalg_lu",
    "aten::linalg_lu_factor",
    "aten::linalg_lu_factor_ex",
    "aten::linalg_lu_solve",
    "aten::linalg_matrix_exp",
    "aten::linalg_matrix_norm",
    "aten::linalg_matrix_power",
    "aten::linalg_matrix_rank",
    "aten::linalg_matrix_sqrth",
    "aten::linalg_norm",
    "aten::linalg_pinv",
    "aten::linalg_polar",
    "aten::linalg_qr",
    "aten::linalg_slogdet",
    "aten::linalg_solve",
    "aten::linalg_solve_ex",
    "aten::linalg_solve_triangular",
    "aten::linalg_svd",
    "aten::linalg_svdvals",
    "aten::linalg_tensorinv",
    "aten::linalg_tensorsolve",
    "aten::logdet",
    "aten::lu_solve",
    "aten::lu_unpack",
    "aten::matrix_exp",
    "aten::matrix_power",
    "aten::nuclear_norm",
    "aten::orgqr",
    "aten::ormqr",
    "aten::pinverse",
    "aten::slogdet",
    "aten::stft",
    "aten::svd",
    "aten::triangular_solve",
    "sconce::assert_linalg",
];

/// Whether an operator, by its full name such as `aten::linalg_inv.out`, is not here because the feature is left out of
/// this build.
pub(crate) fn is_left_out(operator: &str) -> bool {
    cfg!(not(feature = "linalg")) && is_linalg(operator)
}

fn is_linalg(operator: &str) -> bool {
    let symbol = operator.split_once('.').map_or(operator, |(symbol, _)| symbol);
    SYMBOLS.contains(&symbol.strip_suffix('_').unwrap_or(symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_of_an_operator_are_of_the_feature_too() {
        for operator in ["aten::linalg_inv", "aten::linalg_inv.out", "aten::svd.U"] {
            assert!(is_linalg(operator), "{operator}");
        }
        assert!(!is_linalg("aten::einsum"));
    }

    #[cfg(not(feature = "linalg"))]
    #[test]
    fn a_build_without_the_feature_says_so() {
        let error = crate::Error::Unsupported { what: "aten::fft_rfft".to_owned(), range: None };
        assert_eq!(
            error.to_string(),
            "aten::fft_rfft is not supported in a build without sconce's feature `linalg`"
        );
        assert!(crate::ops::find("aten::fft_rfft", "").is_none());
        assert!(crate::ops::find("aten::einsum", "").is_some());
    }
}
