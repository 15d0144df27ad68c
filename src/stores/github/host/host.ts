import { PassThrough, pipeline, Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { asError, quoted, StoreError } from '../../../model/error.ts';
import type { Cancellable, Quota } from '../../../model/store.ts';
import { LONG_RETRY_AFTER_SECONDS } from '../../network.ts';
import { FOLDER, SUBMODULE, type TreeEntry } from '../branch/objects.ts';
import type { GitHubOptions } from '../settings.ts';
import { type Call, GitHubClient, type SendOptions } from './client.ts';
import { type Effect, isErrorResponse, isRejectedTree, notGitHub } from './errors.ts';
import { TRANSFER_TIMEOUT_MS, UPLOAD_TIMEOUT_MS } from './fetch.ts';

/** The head of the branch. */
export interface BranchState {
  readonly head: string;
  /** SHA of the head's tree. */
  readonly root: string;
  readonly etag: string | undefined;
}

/** The entries of a tree; if requested, with everything below it. */
export interface TreeResponse {
  /** Whether GitHub omitted entries. */
  readonly truncated: boolean;
  readonly entries: readonly (TreeEntry & { readonly path: string })[];
}

/** One edit of a tree: an existing object (`sha`), a new text file (`content`), or a removal (`sha: null`). */
export interface TreeEdit {
  readonly path: string;
  readonly mode: string;
  readonly sha?: string | null;
  readonly content?: string;
}

export interface NewCommit {
  readonly message: string;
  readonly tree: string;
  readonly parents: readonly string[];
}

/** A commit in a listing. */
export interface ListedCommit {
  readonly sha: string;
  /** SHA of the root tree. */
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
  readonly author: string | undefined;
  readonly committedAt: Date;
}

/** Which commits to list: those that `head` contains, and of these, if `path` is set, those that changed it. */
export interface CommitQuery {
  readonly head: string;
  readonly path: string | undefined;
  /** From 1. */
  readonly page: number;
}

/** Number of commits on a full page. */
export const COMMITS_PER_PAGE = 100;

/** Properties of the repository. */
export interface RepositoryState {
  readonly defaultBranch: string;
  readonly mayWrite: boolean;
  readonly isArchived: boolean;
}

/**
 * A repository on GitHub, accessed by the REST API (docs.github.com/rest). Methods throw a `StoreError` for expected
 * failures, except where they document that the original error is thrown (`ErrorResponse`, `NoResponse`).
 */
export class Host {
  readonly #client: GitHubClient;
  readonly #options: GitHubOptions;

  constructor(options: GitHubOptions) {
    this.#client = new GitHubClient(options);
    this.#options = options;
  }

  /** Returns `owner/name`, updated when the repository is renamed. */
  repository(): string {
    return this.#client.repository();
  }

  quota(): Quota | undefined {
    return this.#client.quota.current();
  }

  async describe({ signal }: Cancellable): Promise<RepositoryState> {
    const data = await this.#data(reading(signal), (base) => this.#request('GET /repos/{owner}/{repo}', { ...base }));
    return {
      defaultBranch: this.#requireText(data?.default_branch),
      mayWrite: data.permissions?.push ?? false,
      isArchived: data.archived,
    };
  }

  /** Returns the state of a branch, or `same` if GitHub confirms `etag`. Throws the original error for a 404. */
  async branch(name: string, etag: string | undefined, { signal }: Cancellable): Promise<BranchState | 'same'> {
    const conditions = etag === undefined ? {} : { 'if-none-match': etag };
    try {
      const { data, headers } = await this.#client.send(reading(signal), (base) =>
        this.#request('GET /repos/{owner}/{repo}/branches/{branch}', { ...base, branch: name, headers: conditions }),
      );
      const currentName = this.#requireText(data?.name);
      if (currentName !== name) throw renamedBranch(name, currentName);
      return {
        head: this.#requireSha(data.commit?.sha),
        root: this.#requireSha(data.commit.commit?.tree?.sha),
        etag: headers['etag']?.toString(),
      };
    } catch (error) {
      if (isErrorResponse(error, 304) && etag !== undefined) return 'same';
      throw isErrorResponse(error, 404) ? error : this.translate(error, 'reads');
    }
  }

  /** Checks that a branch exists. Throws the original error if GitHub refuses. */
  async reference(branch: string, { signal }: Cancellable): Promise<void> {
    const ref = `heads/${branch}`;
    await this.#client.send(reading(signal), (base) =>
      this.#request('GET /repos/{owner}/{repo}/git/ref/{ref}', { ...base, ref }),
    );
  }

  async createReference(branch: string, commit: string, { signal }: Cancellable): Promise<void> {
    const options = { effect: 'writes', ...(signal && { signal }) } as const;
    await this.#data(options, (base) =>
      this.#request('POST /repos/{owner}/{repo}/git/refs', { ...base, ref: `refs/heads/${branch}`, sha: commit }),
    );
  }

  async tree(sha: string, depth: 'one' | 'all', { signal }: Cancellable): Promise<TreeResponse> {
    const data = await this.#objectData({ ...reading(signal), timeoutMs: TRANSFER_TIMEOUT_MS }, (base) => {
      const recursive = depth === 'all' && { recursive: '1' };
      return this.#request('GET /repos/{owner}/{repo}/git/trees/{tree_sha}', { ...base, tree_sha: sha, ...recursive });
    });
    // GitHub never lists an empty tree; the store knows it without a request.
    if (!Array.isArray(data?.tree) || data.tree.length === 0 || typeof data.truncated !== 'boolean') {
      throw this.#notGitHub();
    }
    const entries = data.tree.map(({ path, mode, sha: entry, size = 0 }) => {
      const isSize = Number.isSafeInteger(size) && size >= 0;
      if (typeof path !== 'string' || typeof mode !== 'string' || !isSize) throw this.#notGitHub();
      // A name with a slash would list a file of another folder, whose permissions might differ.
      if (depth === 'one' && path.includes('/')) throw this.#notGitHub();
      return { path, mode, sha: this.#requireSha(entry), size };
    });
    return { truncated: data.truncated, entries };
  }

  async blob(sha: string, { signal }: Cancellable): Promise<Readable> {
    const data: unknown = await this.#objectData({ ...reading(signal), streamsResponse: true }, (base) =>
      this.#request('GET /repos/{owner}/{repo}/git/blobs/{file_sha}', {
        ...base,
        file_sha: sha,
        headers: { accept: 'application/vnd.github.raw+json' },
        request: { ...base.request, parseSuccessResponseBody: false },
      }),
    );
    return readableOf(data as ReadableStream<Uint8Array> | null, (error) => this.translate(error, 'reads'));
  }

  /** Creates a blob from a JSON body and returns its SHA. A stream is sent only once. */
  async createBlob(body: string | Readable, { signal }: Cancellable): Promise<string> {
    const hasStreamBody = typeof body !== 'string';
    const timeoutMs = hasStreamBody ? UPLOAD_TIMEOUT_MS : TRANSFER_TIMEOUT_MS;
    const options = { effect: 'writes', timeoutMs, hasStreamBody, ...(signal && { signal }) } as const;
    const data = await this.#data(options, (base) =>
      this.#request('POST /repos/{owner}/{repo}/git/blobs', {
        ...base,
        // Replaces the parameters, which Octokit would buffer.
        ...({ data: body } as unknown as { content: string }),
        headers: { 'content-type': 'application/json; charset=utf-8' },
      }),
    );
    return this.#requireSha(data?.sha);
  }

  /** Creates a tree and returns its SHA. Throws the original error if GitHub rejects the edits (`isRejectedTree`). */
  async createTree(base: string, edits: readonly TreeEdit[]): Promise<string> {
    const tree = edits.map(toParameters);
    try {
      const { data } = await this.#client.send({ ...COMMITTING, timeoutMs: TRANSFER_TIMEOUT_MS }, (parameters) =>
        this.#request('POST /repos/{owner}/{repo}/git/trees', { ...parameters, base_tree: base, tree }),
      );
      return this.#requireSha(data?.sha);
    } catch (error) {
      throw isRejectedTree(error) ? error : this.translate(error, 'writes');
    }
  }

  async createCommit({ message, tree, parents }: NewCommit): Promise<string> {
    const { author } = this.#options;
    const data = await this.#data(COMMITTING, (base) =>
      this.#request('POST /repos/{owner}/{repo}/git/commits', {
        ...base,
        message,
        tree,
        parents: [...parents],
        ...(author && { author: { ...author, date: new Date().toISOString() } }),
      }),
    );
    return this.#requireSha(data?.sha);
  }

  /** Returns the parents and the tree of a commit. */
  async commit(commit: string): Promise<Pick<ListedCommit, 'parents' | 'tree'>> {
    const data = await this.#data(reading(undefined), (base) =>
      this.#request('GET /repos/{owner}/{repo}/git/commits/{commit_sha}', { ...base, commit_sha: commit }),
    );
    if (!Array.isArray(data?.parents)) throw this.#notGitHub();
    const parents = data.parents.map((parent) => this.#requireSha(parent?.sha));
    return { parents, tree: this.#requireSha(data.tree?.sha) };
  }

  /** Returns a page of commits, the newest first. */
  async commits({ head, path, page }: CommitQuery, { signal }: Cancellable): Promise<readonly ListedCommit[]> {
    const data = await this.#objectData(reading(signal), (base) =>
      this.#request('GET /repos/{owner}/{repo}/commits', {
        ...base,
        sha: head,
        ...(path !== undefined && { path }),
        per_page: COMMITS_PER_PAGE,
        page,
      }),
    );
    if (!Array.isArray(data)) throw this.#notGitHub();
    return data.map(({ sha, parents, commit }) => {
      const committedAt = new Date(commit?.committer?.date ?? Number.NaN);
      if (!Array.isArray(parents) || Number.isNaN(committedAt.getTime())) throw this.#notGitHub();
      return {
        sha: this.#requireSha(sha),
        tree: this.#requireSha(commit.tree?.sha),
        parents: parents.map((parent) => this.#requireSha(parent?.sha)),
        message: this.#requireText(commit.message),
        author: commit.author?.name,
        committedAt,
      };
    });
  }

  /**
   * Moves the branch to a commit that follows its head. Returns whether the response confirms it: any other successful
   * response is not GitHub's, so the branch might not have moved. Throws the original error.
   */
  async moveBranch(commit: string): Promise<boolean> {
    const ref = `heads/${this.#options.branch}`;
    const { data } = await this.#client.send(COMMITTING, (base) =>
      this.#request('PATCH /repos/{owner}/{repo}/git/refs/{ref}', { ...base, ref, sha: commit, force: false }),
    );
    return data?.object?.sha === commit;
  }

  /**
   * Creates an empty file on the default branch, the only way to create the first commit of a repository. Returns false
   * if the repository already has one.
   */
  async createFirstFile(path: string, message: string): Promise<boolean> {
    const { author } = this.#options;
    try {
      await this.#client.send(COMMITTING, (base) =>
        this.#request('PUT /repos/{owner}/{repo}/contents/{path}', {
          ...base,
          path,
          message,
          content: '',
          ...(author && { author, committer: author }),
        }),
      );
      return true;
    } catch (error) {
      // The repository has a first commit if the file exists (GitHub requires its `sha`), or if another client is
      // creating it.
      const fileExists = isErrorResponse(error, 422) && /\bsha\b/.test(error.message);
      const isBeingCreated =
        isErrorResponse(error, 409) || (isErrorResponse(error, 404) && /^branch\b/i.test(error.message));
      if (fileExists || isBeingCreated) return false;
      throw this.translate(error, 'writes');
    }
  }

  /** Returns a URL of GitHub that serves a file without authentication; undefined if GitHub gives none. */
  async downloadUrl(path: string, commit: string, { signal }: Cancellable): Promise<string | undefined> {
    const data: unknown = await this.#data(reading(signal), (base) =>
      this.#request('GET /repos/{owner}/{repo}/contents/{path}', {
        ...base,
        path,
        ref: commit,
        headers: { accept: 'application/vnd.github.object+json' },
      }),
    );
    if (typeof data !== 'object' || data === null) throw this.#notGitHub();
    return parseWebUrl('download_url' in data ? data.download_url : undefined);
  }

  /** Converts an error that was thrown unchanged to a `StoreError`. */
  translate(error: unknown, effect: Effect): unknown {
    return this.#client.translate(error, effect);
  }

  /** Returns the error for a well-formed response with wrong content; `reason` is for the log. */
  invalidResponse(reason: string): StoreError {
    return notGitHub(this.#options.apiUrl, new Error(reason));
  }

  /** Rejects the requests that wait for the quota or for a retry, and all later ones that would have to. */
  stopWaiting(): void {
    this.#client.stopWaiting();
  }

  /** Rejects all requests that wait, also for the write throttle. */
  close(): void {
    this.#client.close();
  }

  get #request() {
    return this.#client.octokit.request;
  }

  /** Sends a request and returns the data of its response. */
  async #data<Body>(options: SendOptions, call: Call<Body>): Promise<Body> {
    try {
      return (await this.#client.send(options, call)).data;
    } catch (error) {
      options.signal?.throwIfAborted();
      throw this.translate(error, options.effect);
    }
  }

  /** As `#data`, for an object that the branch contained: a 404 means that the branch was rewritten. */
  async #objectData<Body>(options: SendOptions, call: Call<Body>): Promise<Body> {
    try {
      return (await this.#client.send(options, call)).data;
    } catch (error) {
      options.signal?.throwIfAborted();
      throw isErrorResponse(error, 404) ? rewritten(error) : this.translate(error, options.effect);
    }
  }

  #requireSha(value: unknown): string {
    if (typeof value === 'string' && /^[0-9a-f]{40}$/.test(value)) return value;
    throw this.#notGitHub();
  }

  #requireText(value: unknown): string {
    if (typeof value === 'string') return value;
    throw this.#notGitHub();
  }

  #notGitHub(): StoreError {
    return notGitHub(this.#options.apiUrl);
  }
}

const reading = (signal: AbortSignal | undefined) => ({ effect: 'reads', ...(signal && { signal }) }) as const;

/** Options of the requests of a commit. */
const COMMITTING = { effect: 'writes', priority: 'high' } as const;

/** Converts an edit to the parameters of the REST API. */
function toParameters({ path, mode, ...change }: TreeEdit) {
  const type = mode === FOLDER ? ('tree' as const) : mode === SUBMODULE ? ('commit' as const) : ('blob' as const);
  return { path, mode: mode as '100644' | '100755' | '040000' | '160000' | '120000', type, ...change };
}

function renamedBranch(before: string, now: string): StoreError {
  const message = `The branch ${before} was renamed to ${quoted(now)}. Set GITHUB_BRANCH.`;
  return new StoreError('branch-not-found', message, { retryAfter: LONG_RETRY_AFTER_SECONDS });
}

/**
 * The error for an object that has disappeared: someone force-pushed the branch, and GitHub removed the old objects.
 */
function rewritten(cause: unknown): StoreError {
  const message = 'The branch was force-pushed while it was read. Send the request again.';
  return new StoreError('file-busy', message, { cause, retryAfter: 1 });
}

/** Returns an http or https URL in a form that is valid in a header; undefined for every other value. */
export function parseWebUrl(value: unknown): string | undefined {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

/** Returns a response body as a stream. `translate` converts its errors. */
function readableOf(body: ReadableStream<Uint8Array> | null, translate: (error: unknown) => unknown): Readable {
  const bytes = new PassThrough({
    destroy: (error, done) => done(error && asError(translate(error))),
  });
  // Destroys each stream when the other one ends early.
  pipeline(body ? Readable.fromWeb(body) : Readable.from([]), bytes, () => {});
  return bytes;
}
