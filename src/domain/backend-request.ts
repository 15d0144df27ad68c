/** A request that a store sent to its backend, as it ended: each try is one. */
export interface BackendRequest extends BackendAnswer {
  readonly method: string;
  /** Without its query, which may hold a signature. */
  readonly url: string;
  /** Until the head of the answer came, or the error. */
  readonly milliseconds: number;
}

/** What the head of an answer tells. */
export interface BackendAnswer {
  /** Undefined where no answer came. */
  readonly status: number | undefined;
  /** What the backend calls the request: so its own log has it, and whoever runs it can look it up. */
  readonly backendId: string | undefined;
  /** What is left of the quota, where there is one. */
  readonly remaining?: string | undefined;
}
