/** The properties that WebDAV clients set on files and folders: dead properties in the terms of RFC 4918. */
export interface PropertiesTable {
  /** A key of `NameComparison.certain`. */
  readonly path: string;
  /** The parent folder of `path`; null for the root. */
  readonly parent: string | null;
  readonly namespace: string;
  readonly name: string;
  /** The property as an XML element with its value. */
  readonly xml: string;
  /** Characters of `xml`. */
  readonly length: number;
  /** The user who set or copied the property; null for an anonymous user, and in rows of earlier versions. */
  readonly username: string | null;
}
