/** Checksums of parts of files, for resumed ZIP downloads. They can be lost: the files are then read again. */
export interface ZipChecksumsTable {
  /** A hash of the path, the ETag and the size of a file. */
  readonly key: string;
  /** The number of bytes from the beginning of the file. */
  readonly position: number;
  /** The CRC-32 of these bytes. */
  readonly crc: number;
  /** Milliseconds since 1970, by the clock of the database. */
  readonly created_at: number;
}
