import type { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { quoted, StoreError } from '../../../model/error.ts';
import type { Cancellable } from '../../../model/store.ts';
import { RETRY_LATER_SECONDS } from '../../network.ts';
import { FOLDER, SUBMODULE, type TreeEntry } from '../branch/objects.ts';
import type { GitHubOptions } from '../settings.ts';
import { LONG, type QuotaKeeper, UPLOAD } from './client.ts';
import { type Asked, isRefusal, isRefusedTree, noHost } from './errors.ts';
import { bytesOf, createAsking, isSha, webUrlIn } from './requests.ts';

/** The head of the branch. */
export interface BranchState {
  readonly head: string;
  /** SHA of the head's tree. */
  readonly root: string;
  readonly etag: string | undefined;
}

/** A tree as GitHub lists it; if requested, with everything below it. */
export interface ToldTree {
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

/** Properties of the repository. */
export interface RepositoryState {
  readonly defaultBranch: string;
  readonly mayWrite: boolean;
  readonly isArchived: boolean;
}

/**
 * A repository on GitHub, accessed by the REST API (docs.github.com/rest). Members throw a `StoreError` for expected
 * failures, except where they document that the original error is thrown.
 */
export interface Host {
  readonly quota: QuotaKeeper;
  /** `owner/name`, updated when the repository is renamed. */
  repository(): string;
  describe(options: Cancellable): Promise<RepositoryState>;
  /** Returns the state of a branch, or `same` if GitHub confirms `etag`. Throws the original error for a 404. */
  branch(name: string, etag: string | undefined, options: Cancellable): Promise<BranchState | 'same'>;
  /** Checks that a branch exists. Throws the original error if GitHub refuses. */
  reference(branch: string, options: Cancellable): Promise<void>;
  createReference(branch: string, commit: string, options: Cancellable): Promise<void>;
  tree(sha: string, depth: 'one' | 'all', options: Cancellable): Promise<ToldTree>;
  blob(sha: string, options: Cancellable): Promise<Readable>;
  /** Creates a blob from a JSON body and returns its SHA. Throws the original error. A stream is sent only once. */
  createBlob(body: string | Readable, options: Cancellable): Promise<string>;
  /** Creates a tree and returns its SHA. Throws the original error if GitHub rejects the edits (`isRefusedTree`). */
  createTree(base: string, edits: readonly TreeEdit[]): Promise<string>;
  createCommit(commit: NewCommit): Promise<string>;
  /** Returns the parents of a commit. */
  parentsOf(commit: string): Promise<readonly string[]>;
  /**
   * Moves the branch to a commit that follows its head. Returns whether the response confirms it: any other successful
   * response is not GitHub's, so the branch may not have moved. Throws the original error.
   */
  moveBranch(commit: string): Promise<boolean>;
  /**
   * Creates a file on the default branch, the only way to create the first commit of a repository. Returns false if the
   * repository already has one.
   */
  createFirstFile(path: string, message: string): Promise<boolean>;
  /** Returns a URL of GitHub that serves a file without authentication; undefined if GitHub gives none. */
  downloadUrl(path: string, commit: string, options: Cancellable): Promise<string | undefined>;
  /** Converts an error that was thrown unchanged to a `StoreError`. */
  translate(error: unknown, effect: Asked['effect']): unknown;
  /** Returns the error for a well-formed response with wrong content; `reason` is for the log. */
  invalidResponse(reason: string): StoreError;
  /** Rejects the requests that wait for the write throttle. */
  close(): void;
}

export function connect(options: GitHubOptions): Host {
  const { client, quota, here, ask, tell, translate, close } = createAsking(options);

  /** Returns a valid SHA; otherwise throws `unavailable`. */
  const requireSha = (sha: unknown): string => {
    if (isSha(sha)) return sha;
    throw noHost(options.apiUrl);
  };

  const reads = ({ signal }: Cancellable) => ({ effect: 'reads', signal }) as const;
  /** As `tell`, for an object that the branch contained: a 404 means that the branch was rewritten. */
  const tellObject: typeof tell = async (how, send) => {
    try {
      return (await ask(how, send)).data;
    } catch (error) {
      how.signal?.throwIfAborted();
      throw isRefusal(error, 404) ? rewritten(error) : translate(error, how.effect);
    }
  };

  const writes = { effect: 'writes', urgency: 'first' } as const;

  return {
    quota,
    close,
    repository: () => `${here().owner}/${here().repo}`,
    translate,
    invalidResponse: (reason) => noHost(options.apiUrl, new Error(reason)),

    async describe(given) {
      const data = await tell(reads(given), (request) => client.rest.repos.get({ ...here(), request }));
      if (typeof data?.default_branch !== 'string') throw noHost(options.apiUrl);
      return {
        defaultBranch: data.default_branch,
        mayWrite: data.permissions?.push ?? false,
        isArchived: data.archived,
      };
    },

    async branch(name, etag, given) {
      const headers = etag === undefined ? {} : { 'if-none-match': etag };
      try {
        const { data, headers: told } = await ask(reads(given), (request) =>
          client.rest.repos.getBranch({ ...here(), branch: name, headers, request }),
        );
        if (typeof data?.commit?.commit?.tree?.sha !== 'string') throw noHost(options.apiUrl);
        if (typeof data.name !== 'string') throw noHost(options.apiUrl);
        if (data.name !== name) throw renamedBranch(name, data.name);
        return {
          head: requireSha(data.commit.sha),
          root: requireSha(data.commit.commit.tree.sha),
          etag: told['etag']?.toString(),
        };
      } catch (error) {
        if (isRefusal(error, 304) && etag !== undefined) return 'same';
        throw isRefusal(error, 404) ? error : translate(error, 'reads');
      }
    },

    async reference(branch, given) {
      await ask(reads(given), (request) => client.rest.git.getRef({ ...here(), ref: `heads/${branch}`, request }));
    },

    async createReference(branch, commit, { signal }) {
      await tell({ effect: 'writes', signal }, (request) =>
        client.rest.git.createRef({ ...here(), ref: `refs/heads/${branch}`, sha: commit, request }),
      );
    },

    async tree(sha, depth, given) {
      const data = await tellObject({ ...reads(given), limit: LONG }, (request) =>
        client.rest.git.getTree({ ...here(), tree_sha: sha, ...(depth === 'all' && { recursive: '1' }), request }),
      );
      // GitHub never lists an empty tree; the store knows it without a request.
      if (!Array.isArray(data?.tree) || data.tree.length === 0 || typeof data.truncated !== 'boolean') {
        throw noHost(options.apiUrl);
      }
      const entries = data.tree.map(({ path, mode, sha: entry, size = 0 }) => {
        const isSize = Number.isSafeInteger(size) && size >= 0;
        if (typeof path !== 'string' || typeof mode !== 'string' || !isSize) throw noHost(options.apiUrl);
        // A name with a slash would list a file of another folder, whose permissions may differ.
        if (depth === 'one' && path.includes('/')) throw noHost(options.apiUrl);
        return { path, mode, sha: requireSha(entry), size };
      });
      return { truncated: data.truncated, entries };
    },

    async blob(sha, given) {
      const data: unknown = await tellObject({ ...reads(given), streamsBody: true }, (request) =>
        client.request('GET /repos/{owner}/{repo}/git/blobs/{file_sha}', {
          ...here(),
          file_sha: sha,
          headers: { accept: 'application/vnd.github.raw+json' },
          request: { ...request, parseSuccessResponseBody: false },
        }),
      );
      return bytesOf(data as ReadableStream<Uint8Array> | null, (error) => translate(error, 'reads'));
    },

    async createBlob(body, { signal }) {
      const once = typeof body !== 'string';
      const { data } = await ask({ effect: 'writes', signal, limit: once ? UPLOAD : LONG, once }, (request) =>
        client.request('POST /repos/{owner}/{repo}/git/blobs', {
          ...here(),
          // Replaces the parameters, which the client would buffer.
          ...({ data: body } as unknown as { content: string }),
          headers: { 'content-type': 'application/json; charset=utf-8' },
          request,
        }),
      );
      return requireSha(data?.sha);
    },

    async createTree(base, edits) {
      try {
        const { data } = await ask({ ...writes, limit: LONG }, (request) =>
          client.rest.git.createTree({ ...here(), base_tree: base, tree: edits.map(asTold), request }),
        );
        return requireSha(data?.sha);
      } catch (error) {
        throw isRefusedTree(error) ? error : translate(error, 'writes');
      }
    },

    async createCommit({ message, tree, parents }) {
      const { author } = options;
      const data = await tell(writes, (request) =>
        client.rest.git.createCommit({
          ...here(),
          message,
          tree,
          parents: [...parents],
          ...(author && { author: { ...author, date: new Date().toISOString() } }),
          request,
        }),
      );
      return requireSha(data?.sha);
    },

    async parentsOf(commit) {
      const data = await tell(reads({}), (request) =>
        client.rest.git.getCommit({ ...here(), commit_sha: commit, request }),
      );
      if (!Array.isArray(data?.parents)) throw noHost(options.apiUrl);
      return data.parents.map((parent) => requireSha(parent?.sha));
    },

    async moveBranch(commit) {
      const { data } = await ask(writes, (request) =>
        client.rest.git.updateRef({ ...here(), ref: `heads/${options.branch}`, sha: commit, force: false, request }),
      );
      return data?.object?.sha === commit;
    },

    async createFirstFile(path, message) {
      const { author } = options;
      try {
        await ask(writes, (request) =>
          client.rest.repos.createOrUpdateFileContents({
            ...here(),
            path,
            message,
            content: '',
            ...(author && { author, committer: author }),
            request,
          }),
        );
        return true;
      } catch (error) {
        // The repository has a first commit if the file exists (GitHub requires its `sha`), or if another client is
        // creating it.
        const isThere = isRefusal(error, 422) && /\bsha\b/.test(error.message);
        const isBeingMade = isRefusal(error, 409) || (isRefusal(error, 404) && /^branch\b/i.test(error.message));
        if (isThere || isBeingMade) return false;
        throw translate(error, 'writes');
      }
    },

    async downloadUrl(path, commit, given) {
      const data: unknown = await tell(reads(given), (request) =>
        client.rest.repos.getContent({
          ...here(),
          path,
          ref: commit,
          headers: { accept: 'application/vnd.github.object+json' },
          request,
        }),
      );
      if (typeof data !== 'object' || data === null) throw noHost(options.apiUrl);
      return webUrlIn('download_url' in data ? data.download_url : undefined);
    },
  };
}

/** Converts an edit to the parameters of the REST API. */
function asTold({ path, mode, ...change }: TreeEdit) {
  const type = mode === FOLDER ? ('tree' as const) : mode === SUBMODULE ? ('commit' as const) : ('blob' as const);
  return { path, mode: mode as '100644' | '100755' | '040000' | '160000' | '120000', type, ...change };
}

function renamedBranch(before: string, now: string): StoreError {
  const message = `The branch ${before} has the name ${quoted(now)} now: set GITHUB_BRANCH to it.`;
  return new StoreError('unavailable', message, { retryAfter: RETRY_LATER_SECONDS });
}

/**
 * The error for an object that has disappeared: someone force-pushed the branch, and GitHub removed the old objects.
 */
function rewritten(cause: unknown): StoreError {
  const message = 'The branch was rewritten while it was read.';
  return new StoreError('unavailable', message, { cause, retryAfter: 1 });
}
