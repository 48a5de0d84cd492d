// sconce for C++11: owners of what sconce.h gives, and errors as exceptions. Nothing here is compiled into the library.
#ifndef SCONCE_HPP_
#define SCONCE_HPP_

#include "sconce.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sconce {

// What a function of sconce.h says is wrong.
class Error : public std::runtime_error {
public:
    explicit Error(sconce_error *error)
        : std::runtime_error(sconce_error_message(error)), code_(sconce_error_code(error)),
          traceback_(sconce_error_traceback(error)), exception_(sconce_error_exception(error)) {
        sconce_error_delete(error);
    }
    // SCONCE_RAISED and its siblings.
    sconce_code code() const noexcept { return code_; }
    // The traceback of what the program raised, or "".
    const std::string &traceback() const noexcept { return traceback_; }
    // The class of what the program raised, or "".
    const std::string &exception() const noexcept { return exception_; }

private:
    sconce_code code_;
    std::string traceback_;
    std::string exception_;
};

inline void check(sconce_error *error) {
    if (error != nullptr) {
        throw Error(error);
    }
}

template <typename T, void (*Delete)(T *)> struct Deleter {
    void operator()(T *pointer) const noexcept { Delete(pointer); }
};
template <typename T, void (*Delete)(T *)> using Owner = std::unique_ptr<T, Deleter<T, Delete>>;

// The number of an element type.
template <typename T> struct DType;
template <> struct DType<float> { static const sconce_dtype number = SCONCE_FLOAT32; };
template <> struct DType<double> { static const sconce_dtype number = SCONCE_FLOAT64; };
template <> struct DType<std::int32_t> { static const sconce_dtype number = SCONCE_INT32; };
template <> struct DType<std::int64_t> { static const sconce_dtype number = SCONCE_INT64; };
template <> struct DType<std::uint8_t> { static const sconce_dtype number = SCONCE_UINT8; };
template <> struct DType<bool> { static const sconce_dtype number = SCONCE_BOOL; };

// A tensor that is part of a value, or owned by a Tensor.
class TensorView {
public:
    explicit TensorView(const sconce_tensor *tensor) : tensor_(tensor) {
        if (tensor == nullptr) {
            throw std::invalid_argument("the value is not a tensor");
        }
    }
    std::vector<std::int64_t> sizes() const {
        const std::int64_t *first = sconce_tensor_sizes(tensor_);
        return std::vector<std::int64_t>(first, first + sconce_tensor_ndim(tensor_));
    }
    sconce_dtype dtype() const noexcept { return sconce_tensor_dtype(tensor_); }
    // The elements, row by row, as elements of T.
    template <typename T> std::vector<T> copy() const {
        std::size_t count = 1;
        for (std::int64_t size : sizes()) {
            count *= static_cast<std::size_t>(size);
        }
        std::vector<T> out(count);
        check(sconce_tensor_copy_to(tensor_, out.data(), count * sizeof(T), DType<T>::number));
        return out;
    }
    const sconce_tensor *get() const noexcept { return tensor_; }

private:
    const sconce_tensor *tensor_;
};

class Tensor {
public:
    // A tensor over memory of the caller's, which stays as long as what uses it.
    template <typename T>
    static Tensor from_blob(const T *data, const std::vector<std::int64_t> &sizes,
                            const std::vector<std::int64_t> *strides = nullptr) {
        if (strides != nullptr && strides->size() != sizes.size()) {
            throw std::invalid_argument("as many strides as sizes are needed");
        }
        sconce_tensor *tensor = nullptr;
        check(sconce_tensor_from_blob(const_cast<T *>(data), DType<T>::number, sizes.data(),
                                      strides == nullptr ? nullptr : strides->data(), sizes.size(), nullptr, nullptr,
                                      &tensor));
        return Tensor(tensor);
    }
    explicit Tensor(sconce_tensor *owned) : tensor_(owned) {}
    TensorView view() const { return TensorView(tensor_.get()); }
    sconce_tensor *release() noexcept { return tensor_.release(); }

private:
    Owner<sconce_tensor, sconce_tensor_delete> tensor_;
};

// A value that is part of another, or owned by a Value.
class ValueView {
public:
    explicit ValueView(const sconce_value *value) : value_(value) {}
    explicit operator bool() const noexcept { return value_ != nullptr; }
    sconce_kind kind() const noexcept { return sconce_value_kind(value_); }
    std::size_t size() const noexcept { return sconce_value_size(value_); }
    ValueView at(std::size_t index) const { return ValueView(sconce_value_at(value_, index)); }
    ValueView get(const std::string &key) const { return ValueView(sconce_value_get(value_, key.c_str())); }
    TensorView tensor() const { return TensorView(sconce_value_as_tensor(value_)); }
    double number() const {
        double out = 0;
        if (!sconce_value_as_float(value_, &out)) {
            throw std::invalid_argument("the value is not a number");
        }
        return out;
    }
    std::string string() const {
        const char *data = nullptr;
        std::size_t size = 0;
        if (!sconce_value_as_string(value_, &data, &size)) {
            throw std::invalid_argument("the value is not a string");
        }
        return std::string(data, size);
    }
    const sconce_value *get() const noexcept { return value_; }

private:
    const sconce_value *value_;
};

class Value {
public:
    explicit Value(sconce_value *owned) : value_(owned) {}
    Value(Tensor tensor) : value_(sconce_value_tensor(tensor.release())) {}
    static Value number(double value) { return Value(sconce_value_float(value)); }
    static Value integer(std::int64_t value) { return Value(sconce_value_int(value)); }
    // Dict[str, T]
    static Value dict(std::vector<std::pair<std::string, Value>> entries) {
        std::vector<const char *> keys;
        std::vector<sconce_value *> values;
        // From here on nothing throws that would lose a value.
        keys.reserve(entries.size());
        values.reserve(entries.size());
        for (auto &entry : entries) {
            keys.push_back(entry.first.c_str());
            values.push_back(entry.second.value_.release());
        }
        sconce_value *dict = nullptr;
        check(sconce_value_dict(keys.data(), values.data(), keys.size(), &dict));
        return Value(dict);
    }
    ValueView view() const noexcept { return ValueView(value_.get()); }

private:
    Owner<sconce_value, sconce_value_delete> value_;
};

class Session {
public:
    explicit Session(sconce_session *owned) : session_(owned) {}
    Value call(const std::string &method, const std::vector<ValueView> &args) {
        std::vector<const sconce_value *> pointers;
        for (const ValueView &arg : args) {
            pointers.push_back(arg.get());
        }
        sconce_value *out = nullptr;
        check(sconce_session_call(session_.get(), method.c_str(), pointers.data(), pointers.size(), nullptr, &out));
        return Value(out);
    }
    // From any thread.
    void interrupt() noexcept { sconce_session_interrupt(session_.get()); }

private:
    Owner<sconce_session, sconce_session_delete> session_;
};

class Module {
public:
    explicit Module(const std::string &path) {
        sconce_module *module = nullptr;
        check(sconce_module_load(path.c_str(), &module));
        module_.reset(module);
    }
    std::string extra_file(const std::string &name) const {
        sconce_string text = {nullptr, 0, nullptr};
        check(sconce_module_extra_file(module_.get(), name.c_str(), &text));
        std::string out(text.data, text.size);
        sconce_string_delete(&text);
        return out;
    }
    Session session(const sconce_options *options = nullptr) const {
        sconce_session *session = nullptr;
        check(sconce_session_new(module_.get(), options, &session));
        return Session(session);
    }
    sconce_module *get() const noexcept { return module_.get(); }

private:
    Owner<sconce_module, sconce_module_delete> module_;
};

} // namespace sconce

#endif
