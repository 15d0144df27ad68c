import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { OPERATIONS } from '../../src/http/api-operations.ts';
import { ERROR_CODES, type ErrorCode } from '../../src/http/error-codes.ts';
import { disk } from '../contract/backend.ts';
import { jsonOf, send } from '../http/client.ts';
import { startService, type TestService } from '../http/service.ts';
import { parseArchive } from '../zip/parse-archive.ts';

const run = promisify(execFile);
const page = await readFile(new URL('../../docs/reference/http-api.md', import.meta.url), 'utf8');

/** Written before each sample, so that the outputs of one process can be told apart. */
const MARK = '=== next sample ===';

/** How to run the samples of a language, all in one process. */
interface Language {
  /** The label of its code blocks. */
  readonly label: string;
  readonly file: string;
  /** The programs that the samples need. */
  readonly needs: string;
  /** A command that succeeds if they are there. */
  readonly probe: readonly [string, ...string[]];
  readonly command: readonly [string, ...string[]];
  /** Makes one program of the block that starts a client, and the samples. Objects are printed as JSON. */
  program(setup: string, samples: readonly string[]): string;
}

const LANGUAGES: Record<string, Language> = {
  curl: {
    label: 'sh',
    file: 'samples.sh',
    needs: 'curl and bash',
    probe: ['bash', '-c', 'curl --version'],
    command: ['bash', '-euo', 'pipefail', 'samples.sh'],
    program: (_setup, samples) =>
      samples
        .map((sample) => `echo; echo '${MARK}'\n${sample.replaceAll('curl ', 'curl --silent --fail-with-body ')}`)
        .join('\n'),
  },
  JavaScript: {
    label: 'js',
    file: 'samples.mjs',
    needs: 'Node.js',
    probe: [process.execPath, '--version'],
    command: [process.execPath, 'samples.mjs'],
    program: (setup, samples) =>
      [
        setup,
        `console.log = (value) => process.stdout.write(typeof value === 'string' ? value : JSON.stringify(value));`,
        ...samples.map((sample) => `console.log('\\n${MARK}\\n');\n{\n${sample}}\n`),
      ].join('\n'),
  },
  Python: {
    label: 'python',
    file: 'samples.py',
    needs: 'Python 3 with the package requests',
    probe: ['python3', '-c', 'import requests'],
    command: ['python3', 'samples.py'],
    program: (setup, samples) =>
      [
        'import json as _json, sys as _sys',
        setup,
        'def print(value):',
        '    _sys.stdout.write(value if isinstance(value, str) else _json.dumps(value))',
        ...samples.map((sample) => `print("\\n${MARK}\\n")\n${sample}`),
      ].join('\n'),
  },
  Go: {
    label: 'go',
    file: 'samples.go',
    needs: 'Go 1.18 or later',
    // For the type `any`.
    probe: ['bash', '-c', 'go version | grep --extended-regexp "go1\\.(1[89]|[2-9][0-9])"'],
    command: ['go', 'run', 'samples.go'],
    program: (setup, samples) =>
      `${setup}\nfunc main() {\n${samples.map((sample) => `fmt.Println("\\n${MARK}")\n{\n${sample}}\n`).join('')}}\n`,
  },
};

describe('The samples of the HTTP API reference', () => {
  let service: TestService;
  let folder: string;

  beforeEach(async () => {
    service = await startService(disk, { hasJobs: true });
    folder = await mkdtemp(join(tmpdir(), 'holdall-samples-'));
    await writeFile(join(folder, 'hello.txt'), 'Hello, Holdall!\n');
    const cat = await sharp({ create: { width: 64, height: 48, channels: 3, background: 'teal' } })
      .jpeg()
      .toBuffer();
    const form = new FormData();
    form.append('prefix', 'photos');
    form.append('file', new Blob([new Uint8Array(cat)]), 'cat.jpg');
    const { status } = await fetch(`http://127.0.0.1:${service.port}/upload`, { method: 'POST', body: form });
    assert.equal(status, 200);
  });

  afterEach(async () => {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });

  for (const [name, language] of Object.entries(LANGUAGES)) {
    const skip = isAvailable(language.probe) ? false : `needs ${language.needs}`;
    it(`get the documented responses in ${name}`, { skip }, async () => {
      const samples = samplesOf(language.label);
      assert.equal(samples.length, 16);
      const program = language.program(
        setupOf(language.label),
        samples.map(({ code }) => code),
      );
      const text = program.replaceAll('127.0.0.1:8080', `127.0.0.1:${service.port}`);
      await writeFile(join(folder, language.file), text);
      const [command, ...args] = language.command;
      // Go must download nothing.
      const env = { ...process.env, GO111MODULE: 'off', GOTOOLCHAIN: 'local' };
      const { stdout } = await run(command, args, { cwd: folder, env });
      const outputs = stdout.split(MARK).slice(1);
      for (const [index, { heading, response }] of samples.entries())
        assert.deepEqual(comparable(outputs[index] ?? ''), comparable(response), heading);
      const { format, width } = await sharp(await readFile(join(folder, 'thumbnail.jpg'))).metadata();
      assert.deepEqual({ format, width }, { format: 'jpeg', width: 320 });
      const preview = await sharp(await readFile(join(folder, 'preview.webp'))).metadata();
      assert.deepEqual([preview.format, preview.width], ['webp', 64]);
      const archive = parseArchive(await readFile(join(folder, 'photos.zip')));
      assert.deepEqual(
        archive.map((entry) => entry.name),
        ['photos/cat.jpg'],
      );
      await expectResult(service);
    });
  }
});

describe('The guides to the HTTP API', () => {
  it('have samples that print the documented output', async () => {
    const service = await startService(disk, { hasJobs: true });
    const folder = await mkdtemp(join(tmpdir(), 'holdall-guides-'));
    try {
      const form = new FormData();
      form.append('prefix', 'notes');
      form.append('file', new Blob(['Hello, Holdall!\n']), 'hello.txt');
      const { status } = await fetch(`http://127.0.0.1:${service.port}/upload`, { method: 'POST', body: form });
      assert.equal(status, 200);
      const names = ['pagination', 'conditional-requests', 'retries', 'long-operations', 'changes'];
      const samples = await Promise.all(names.map(readGuideSample));
      const program = samples.map((sample) => `console.log('${MARK}');\n{\n${sample}}\n`).join('');
      await writeFile(join(folder, 'samples.mjs'), program.replaceAll('127.0.0.1:8080', `127.0.0.1:${service.port}`));
      const { stdout, stderr } = await run(process.execPath, ['samples.mjs'], { cwd: folder });
      const outputs = stdout.split(`${MARK}\n`).slice(1);
      assert.deepEqual(outputs, [
        'notes/hello.txt\n',
        'true\nfalse\n200 First\n304\n',
        '404\n',
        '200 Item copied successfully\n',
        'folder.created drafts/\n',
      ]);
      assert.match(stderr, /^\d of (2|an unknown number of) files$/m);
    } finally {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('The error tables of the HTTP API reference', () => {
  const headings: Record<string, string> = {
    'Upload a file': 'POST /upload',
    'Store a file': 'PUT /file/{path}',
    'List a folder': 'GET /{path}',
    'Fetch a file': 'GET /file/{path}',
    'Get a thumbnail': 'GET /thumb/{path}',
    'Get a preview': 'GET /-/preview/{path}',
    'Get the details of an image': 'GET /-/media/{path}',
    'Download an archive': 'POST /-/zip',
    'Create a folder': 'POST /create_folder',
    'Copy a file or folder': 'POST /copy',
    'Move a file or folder': 'POST /move',
    'Rename a file': 'POST /rename/{path}',
    'Rename a folder': 'POST /rename_folder/{path}',
    'Delete a file': 'DELETE /delete/{path}',
    'Delete a folder': 'DELETE /delete_folder/{path}',
    'Fetch by a signed URL': 'GET /-/signed/{path}',
    Changes: 'GET /-/changes',
    'Undo a change': 'POST /-/undo',
    'List jobs': 'GET /-/jobs',
    'Get or cancel a job': 'DELETE /-/jobs/{id}',
    'List webhooks': 'GET /-/webhooks/{id}',
    'Add a webhook': 'POST /-/webhooks',
    'Change a webhook': 'PATCH /-/webhooks/{id}',
    'Remove a webhook': 'DELETE /-/webhooks/{id}',
    'Replace the secret of a webhook': 'POST /-/webhooks/{id}/rotate-secret',
    'Test a webhook': 'POST /-/webhooks/{id}/test',
    'List deliveries': 'GET /-/webhooks/{id}/deliveries',
    'Repeat a delivery': 'POST /-/webhooks/{id}/deliveries/{delivery}/redeliver',
    'Get the session': 'GET /-/session',
    'Sign in': 'POST /-/session',
    'Sign out': 'DELETE /-/session',
    'Sign in with a provider': 'GET /-/sign-in',
    Health: 'GET /-/health/ready',
  };

  it('list the errors of each endpoint in the OpenAPI document, under their status', () => {
    const common = errorsOf('Errors of every endpoint');
    assert.ok(common.length > 5);
    for (const [heading, operation] of Object.entries(headings)) {
      const { errors } = OPERATIONS[operation] ?? assert.fail(operation);
      const own = new Set(errors.filter((code) => !common.includes(code)));
      assert.deepEqual(errorsOf(heading).toSorted(), [...own].toSorted(), heading);
    }
  });
});

async function readGuideSample(name: string): Promise<string> {
  const guide = await readFile(new URL(`../../docs/how-to/api-${name}.md`, import.meta.url), 'utf8');
  return blockOf(guide, 'js') ?? assert.fail(name);
}

interface Sample {
  readonly heading: string;
  readonly code: string;
  /** The documented output, empty if there is none. */
  readonly response: string;
}

/** Returns the samples of a language in the order of the page. */
function samplesOf(label: string): Sample[] {
  return sections().flatMap(({ heading, text }) => {
    const code = blockOf(text, label);
    const [, response = ''] = /\nResponse:\n\n```\w+\n([^`]+)```/.exec(text) ?? [];
    return code === undefined || heading === 'Set up a client' ? [] : [{ heading, code, response }];
  });
}

function setupOf(label: string): string {
  const { text } = sections().find(({ heading }) => heading === 'Set up a client') ?? assert.fail();
  return blockOf(text, label) ?? '';
}

function blockOf(text: string, label: string): string | undefined {
  // Go and JavaScript have backquotes inside lines, so a block ends with a line of its own.
  return new RegExp(`^\`\`\`${label}\n(.*?)^\`\`\`$`, 'ms').exec(text)?.[1];
}

/** Returns the error codes in the table of a section. Fails if one is in the row of another status. */
function errorsOf(heading: string): ErrorCode[] {
  const { text } = sections().find((section) => section.heading === heading) ?? assert.fail(heading);
  return [...text.matchAll(/^\| \[(\d{3})\]\(errors\.md#[\w-]+\) \| (.*) \|$/gm)].flatMap(([, status, cell = '']) =>
    [...cell.matchAll(/`([\w-]+)`/g)].map(([, code = '']) => {
      assert.equal(ERROR_CODES[code as ErrorCode].status, Number(status), code);
      return code as ErrorCode;
    }),
  );
}

/** Returns the sections of the page, each up to the next heading of any level. */
function sections(): { heading: string; text: string }[] {
  return page
    .split(/^#{2,3} /m)
    .slice(1)
    .map((section) => {
      const end = section.indexOf('\n');
      return { heading: section.slice(0, end), text: section.slice(end) };
    });
}

/** Returns an output as JSON without times, ETags, cursors and IDs, or as text. */
function comparable(output: string): unknown {
  const text = output
    .trim()
    .replace(/("(?:modified|time|id|cursor|change)": ?)"[^"]+"/g, '$1""')
    .replace(/("etag": ?)"\\"[\w-]+\\""/g, '$1""');
  return text.startsWith('{') ? JSON.parse(text) : text;
}

/** Expects the folders that the samples leave. */
async function expectResult({ port }: TestService): Promise<void> {
  const namesIn = async (path: string) => {
    const { entries } = jsonOf(await send(port, path)) as { entries: { path: string }[] };
    return entries.map((entry) => entry.path);
  };
  assert.deepEqual(await namesIn('/'), ['inbox/', 'letters/', 'photos/']);
  assert.deepEqual(await namesIn('/letters/'), []);
}

function isAvailable([command, ...args]: readonly [string, ...string[]]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
