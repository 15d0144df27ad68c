/** The content of unfinished uploads to stores that can't receive it in parts. */
export interface UploadContentsTable {
  /** The ID of a row of `uploads`, which this row does not outlive. */
  readonly upload_id: string;
  /** The bytes that count: the next append begins at this position. */
  readonly size: number;
  /** All bytes in `upload_chunks`, including those that don't count before their append is verified. */
  readonly written: number;
  /** The append that may add bytes; null if none may. */
  readonly writer: string | null;
  /** 1 while the content becomes a file, and after a commit whose outcome is unknown. */
  readonly is_committing: number;
  /** 1 while the content is removed. */
  readonly is_ended: number;
}

/** The bytes of `upload_contents`, in rows of at most 1 MiB. */
export interface UploadChunksTable {
  readonly upload_id: string;
  /** The position of the first byte in the content. */
  readonly position: number;
  readonly bytes: Uint8Array;
}
