import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { check } from 'recheck';
import { type ESTree, parseSync, Visitor } from 'vite';

/*
 * Fails if matching a regular expression of src/, web/ or bin/ can take more than linear time, so that no hostile
 * name, header or file stalls a process or a page. To make that checkable, regular expressions are literals: neither
 * `new RegExp` nor a JSON Schema `pattern` that is composed at run time passes, unless it is listed here.
 */
const EXEMPT: readonly { readonly file: string; readonly source: string; readonly reason: string }[] = [
  {
    file: 'src/access/access-file-schema.ts',
    source: 'NAME_PATTERN',
    reason: 'The source of the literal NAME in src/access/identity.ts, which is checked there.',
  },
];

/**
 * Checks expressions with counted repetitions by fuzzing. A fixed seed makes the result independent of the machine's
 * load. The only timeout is that of the whole check.
 */
const PARAMETERS = { randomSeed: 1, attackTimeout: null, incubationTimeout: null, timeout: 120_000 };

interface Expression {
  readonly file: string;
  readonly line: number;
  readonly pattern: string;
  readonly flags: string;
}

const expressions: Expression[] = [];
const problems: string[] = [];
const used = new Set<(typeof EXEMPT)[number]>();
for await (const file of glob(['src/**/*.ts', 'web/*.ts', 'web/src/**/*.{ts,tsx}', 'bin/*.js'])) collect(file);
problems.push(...(await Promise.all(expressions.map(judge))).filter((problem) => problem !== undefined));
for (const exemption of EXEMPT) {
  if (!used.has(exemption)) problems.push(`${exemption.file}: ${exemption.source} is exempt and no longer there.`);
}
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.stdout.write(`${expressions.length} regular expressions checked\n`);
process.exitCode = problems.length > 0 ? 1 : 0;

/** Adds the expressions of a file to `expressions`. */
function collect(file: string): void {
  const code = readFileSync(file, 'utf8');
  const { program, errors } = parseSync(file, code);
  for (const { message } of errors) problems.push(`${file}: ${message}`);
  const add = (node: ESTree.Span, pattern: string, flags: string) =>
    expressions.push({ file, line: lineOf(code, node), pattern, flags });
  const refuse = (node: ESTree.Span) => {
    const source = code.slice(node.start, node.end);
    const exemption = EXEMPT.find((exempt) => exempt.file === file && exempt.source === source);
    if (exemption) used.add(exemption);
    else
      problems.push(`${file}:${lineOf(code, node)}: ${source} can't be checked. Write a regular expression literal.`);
  };
  const refuseConstructor = (node: ESTree.NewExpression | ESTree.CallExpression) => {
    if (node.callee.type === 'Identifier' && node.callee.name === 'RegExp') refuse(node);
  };
  new Visitor({
    Literal(node) {
      if ('regex' in node) add(node, node.regex.pattern, node.regex.flags);
    },
    Property({ key, value }) {
      if (key.type !== 'Identifier' || key.name !== 'pattern') return;
      // Ajv compiles JSON Schema patterns with the flag `u`.
      if (value.type === 'Literal' && typeof value.value === 'string') add(value, value.value, 'u');
      else refuse(value);
    },
    NewExpression: refuseConstructor,
    CallExpression: refuseConstructor,
  }).visit(program);
}

function lineOf(code: string, { start }: ESTree.Span): number {
  return code.slice(0, start).split('\n').length;
}

/** Returns the problem of an expression; undefined if matching takes linear time. */
async function judge({ file, line, pattern, flags }: Expression): Promise<string | undefined> {
  const result = await check(pattern, flags, PARAMETERS);
  const place = `${file}:${line}: /${pattern}/${flags}`;
  switch (result.status) {
    case 'safe':
      return undefined;
    case 'vulnerable':
      return `${place} takes ${result.complexity.summary} time on ${result.attack.pattern}.`;
    case 'unknown':
      return `${place} could not be checked: ${result.error.kind}.`;
  }
}
