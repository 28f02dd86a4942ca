// SPDX-License-Identifier: Apache-2.0
// The attributes of a file by their names.

import CGRunGIO

extension GIO.FileInfo {
    /// A value of an attribute. The corresponding GLib type is `GFileAttributeType`.
    public enum Attribute: Hashable, Sendable {
        /// A text.
        case string(String)
        /// A name, which need not be UTF-8, without a NUL at its end.
        case byteString([UInt8])
        /// True or false.
        case boolean(Bool)
        /// A number, such as `unix::mode`.
        case uint32(UInt32)
        /// A number.
        case int32(Int32)
        /// A number, such as `standard::size`.
        case uint64(UInt64)
        /// A number.
        case int64(Int64)
        /// A list of texts.
        case strings([String])
        /// An object, such as the icon. To get the object, call C functions with ``GIO/FileInfo/pointer``.
        case object
    }

    /// Returns the value of an attribute, such as `unix::inode`; nil if the attribute was not read, or if the file does
    /// not have it.
    ///
    /// The corresponding GLib function is `g_file_info_get_attribute_data`.
    public func attribute(_ name: String) -> Attribute? {
        var type = G_FILE_ATTRIBUTE_TYPE_INVALID
        var place: gpointer?
        guard !name.utf8.contains(0), g_file_info_get_attribute_data(pointer, name, &type, &place, nil) != 0, let place
        else { return nil }
        return switch type {
        case G_FILE_ATTRIBUTE_TYPE_STRING: .string(String(cString: place.assumingMemoryBound(to: CChar.self)))
        case G_FILE_ATTRIBUTE_TYPE_BYTE_STRING: .byteString(bytes(of: place.assumingMemoryBound(to: CChar.self)))
        case G_FILE_ATTRIBUTE_TYPE_BOOLEAN: .boolean(place.load(as: gboolean.self) != 0)
        case G_FILE_ATTRIBUTE_TYPE_UINT32: .uint32(place.load(as: UInt32.self))
        case G_FILE_ATTRIBUTE_TYPE_INT32: .int32(place.load(as: Int32.self))
        case G_FILE_ATTRIBUTE_TYPE_UINT64: .uint64(place.load(as: UInt64.self))
        case G_FILE_ATTRIBUTE_TYPE_INT64: .int64(place.load(as: Int64.self))
        case G_FILE_ATTRIBUTE_TYPE_STRINGV: .strings(Self.texts(place))
        case G_FILE_ATTRIBUTE_TYPE_OBJECT: .object
        default: nil
        }
    }

    /// The names of the attributes that were read and that the file has. The corresponding GLib function is
    /// `g_file_info_list_attributes`.
    public var attributeNames: [String] {
        guard let list = g_file_info_list_attributes(pointer, nil) else { return [] }
        defer { g_strfreev(list) }
        return Self.texts(list)
    }

    /// Copies a NULL-terminated list of C strings.
    private static func texts(_ list: gpointer) -> [String] {
        var each = list.assumingMemoryBound(to: UnsafePointer<CChar>?.self)
        var texts: [String] = []
        while let text = each.pointee {
            texts.append(String(cString: text))
            each += 1
        }
        return texts
    }
}
