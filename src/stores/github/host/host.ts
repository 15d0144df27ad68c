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
  /** The sha of the head's tree. */
  readonly root: string;
  readonly etag: string | undefined;
}

/** What the host tells of a tree, of all that is below it where that was asked for. */
export interface ToldTree {
  /** Whether some is missing. */
  readonly truncated: boolean;
  readonly entries: readonly (TreeEntry & { readonly path: string })[];
}

/** One change to a tree: an entry, a text to make one of, or a removal. */
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

/** What there is to know of the repository itself. */
export interface RepositoryState {
  readonly defaultBranch: string;
  readonly mayWrite: boolean;
  readonly isArchived: boolean;
}

/**
 * The host of the repository, and the one way to ask it: by its REST interface (docs.github.com/rest). Every error is
 * what the host said where a member tells of it, else a `StoreError` where it was foreseen.
 */
export interface Host {
  readonly quota: QuotaKeeper;
  /** `owner/name` as it is now: a repository that was renamed is followed. */
  repository(): string;
  describe(options: Cancellable): Promise<RepositoryState>;
  /** The state of a branch, or `same` where `etag` is still that of the host. A 404 is thrown as it is. */
  branch(name: string, etag: string | undefined, options: Cancellable): Promise<BranchState | 'same'>;
  /** Looks for a reference; what the host refuses is thrown as it is. */
  reference(branch: string, options: Cancellable): Promise<void>;
  createReference(branch: string, commit: string, options: Cancellable): Promise<void>;
  tree(sha: string, depth: 'one' | 'all', options: Cancellable): Promise<ToldTree>;
  blob(sha: string, options: Cancellable): Promise<Readable>;
  /** Makes a blob of a JSON body. A refusal is thrown as it is; one that is a stream is sent once. */
  createBlob(body: string | Readable, options: Cancellable): Promise<string>;
  /** Makes a tree, and gives its sha. That the host does not take the edits is thrown as it is: `isRefusedTree`. */
  createTree(base: string, edits: readonly TreeEdit[]): Promise<string>;
  createCommit(commit: NewCommit): Promise<string>;
  /** The parents of a commit. */
  parentsOf(commit: string): Promise<readonly string[]>;
  /**
   * Moves the branch on to a commit that follows its head. Returns whether the response confirms it: any other response
   * of success is not of GitHub, and tells nothing of the branch. What fails is thrown as it is.
   */
  moveBranch(commit: string): Promise<boolean>;
  /** Makes a file on the default branch, the one way to the first commit of a repository; false where it has one. */
  createFirstFile(path: string, message: string): Promise<boolean>;
  /** Where the host itself gives a file to whoever has the URL; undefined where it gives none. */
  downloadUrl(path: string, commit: string, options: Cancellable): Promise<string | undefined>;
  /** The error that stands for one that was thrown as it is. */
  translate(error: unknown, effect: Asked['effect']): unknown;
  /** The error for a response of the right form that is wrong nevertheless; `reason` is for the log. */
  invalidResponse(reason: string): StoreError;
  /** Ends what still waits for its turn. */
  close(): void;
}

export function connect(options: GitHubOptions): Host {
  const { client, quota, here, ask, tell, translate, close } = createAsking(options);

  /** What an answer has to have. */
  const requireSha = (sha: unknown): string => {
    if (isSha(sha)) return sha;
    throw noHost(options.apiUrl);
  };

  const reads = ({ signal }: Cancellable) => ({ effect: 'reads', signal }) as const;
  /** Of an object that the branch was seen to have. */
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
      // One without entries is never told of: every repository has it.
      if (!Array.isArray(data?.tree) || data.tree.length === 0 || typeof data.truncated !== 'boolean') {
        throw noHost(options.apiUrl);
      }
      const entries = data.tree.map(({ path, mode, sha: entry, size = 0 }) => {
        const isSize = Number.isSafeInteger(size) && size >= 0;
        if (typeof path !== 'string' || typeof mode !== 'string' || !isSize) throw noHost(options.apiUrl);
        // Its listing would show a file of another folder, past the grants of that folder.
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
          // In the place of the parameters, which the client would have to hold.
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
        // Somebody was first: the file is there, which wants its sha told, or it and its branch are being made.
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

/** An edit in the words of the interface. */
function asTold({ path, mode, ...change }: TreeEdit) {
  const type = mode === FOLDER ? ('tree' as const) : mode === SUBMODULE ? ('commit' as const) : ('blob' as const);
  return { path, mode: mode as '100644' | '100755' | '040000' | '160000' | '120000', type, ...change };
}

function renamedBranch(before: string, now: string): StoreError {
  const message = `The branch ${before} has the name ${quoted(now)} now: set GITHUB_BRANCH to it.`;
  return new StoreError('unavailable', message, { retryAfter: RETRY_LATER_SECONDS });
}

/** An object was there a moment ago: the branch was moved by force, and the host has cleaned up. */
function rewritten(cause: unknown): StoreError {
  const message = 'The branch was rewritten while it was read.';
  return new StoreError('unavailable', message, { cause, retryAfter: 1 });
}
