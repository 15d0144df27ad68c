import { runGit, type Surroundings } from './conversation.ts';

/** A file by its text or bytes; or with a mode: an executable, a symbolic link, the commit of another repository. */
export type Content =
  | string
  | Buffer
  | { readonly mode: '100644' | '100755' | '120000'; readonly content: string | Buffer }
  | { readonly mode: '160000'; readonly sha: string };

/** By their paths; a path of other bytes than UTF-8 takes a Map and a Buffer. Null removes a file or a folder. */
export type Changes<Change> = Readonly<Record<string, Change>> | ReadonlyMap<string | Buffer, Change>;

interface NewCommit {
  readonly changes: Changes<Content | null>;
  readonly message: string;
  readonly date: Date;
  readonly from?: string | undefined;
}

/** Commits as somebody who pushes, and returns the sha. One process of git for the whole of it: `git fast-import`. */
export async function pushCommit(surroundings: Surroundings, branch: string, commit: NewCommit): Promise<string> {
  const written = await runGit(surroundings, ['fast-import', '--quiet', '--done'], describe(branch, commit));
  return written.toString().trim();
}

function* describe(branch: string, { changes, message, date, from }: NewCommit): Generator<string | Buffer> {
  const text = Buffer.from(message);
  yield `commit refs/heads/${branch}\nmark :1\n`;
  yield `committer Somebody Else <somebody@example.com> ${Math.floor(date.getTime() / 1000)} +0000\n`;
  yield `data ${text.length}\n`;
  yield text;
  yield from === undefined ? '\n' : `\nfrom ${from}\n`;
  for (const [path, change] of changes instanceof Map ? changes : Object.entries(changes)) {
    yield* describeChange(quote(path), change);
  }
  yield '\nget-mark :1\ndone\n';
}

function* describeChange(path: string, change: Content | null): Generator<string | Buffer> {
  if (change === null) {
    yield `D ${path}\n`;
  } else if (typeof change === 'object' && 'sha' in change) {
    yield `M ${change.mode} ${change.sha} ${path}\n`;
  } else {
    const { mode, content } =
      typeof change === 'string' || Buffer.isBuffer(change) ? { mode: '100644', content: change } : change;
    const bytes = Buffer.from(content);
    yield `M ${mode} inline ${path}\ndata ${bytes.length}\n`;
    yield bytes;
    yield '\n';
  }
}

/** As in C, each odd byte by its octal number. */
function quote(path: string | Buffer): string {
  const escape = (byte: number) => {
    const isPlain = byte > 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c;
    return isPlain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`;
  };
  return `"${[...Buffer.from(path)].map(escape).join('')}"`;
}
