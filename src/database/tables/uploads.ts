/** The uploads whose content arrives in several requests. Times are milliseconds since 1970, by the clock of the database. */
export interface UploadsTable {
  readonly id: string;
  /** The user who began the upload; null for an anonymous user. */
  readonly owner: string | null;
  /** 1 if the access file had the user. */
  readonly owner_has_entry: number;
  /** The network of the anonymous user who began the upload, until it is finished; null for other users. */
  readonly network: string | null;
  /** The site of that network; null where `network` is null, and for uploads of earlier versions. */
  readonly site: string | null;
  /** The ID of the app token that began the upload; null for other credentials. */
  readonly app_token: string | null;
  /** The path of the file that it becomes. */
  readonly path: string;
  /** The media type that the client sent. */
  readonly type: string | null;
  /** Bytes of the whole content; null while the client has not told it. */
  readonly size: number | null;
  /** The modification time to store. */
  readonly modified: number | null;
  /** The condition of the write, as JSON. */
  readonly condition: string | null;
  /** The metadata as the client sent it. */
  readonly metadata: string | null;
  /** The ETag of the stored file, empty if it is unknown; null while the upload is unfinished. */
  readonly etag: string | null;
  readonly created_at: number;
  readonly expires_at: number;
  /** The request that writes; null if none does. */
  readonly writer: string | null;
  /** When another request may write, even if `writer` does not end. */
  readonly writer_until: number | null;
  /** 1 if another request waits for the end of `writer`. */
  readonly is_wanted: number;
  /** 1 as soon as the content can have become a file. */
  readonly is_committing: number;
}
