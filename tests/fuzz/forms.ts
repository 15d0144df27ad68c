import * as fc from 'fast-check';
import { mutated } from './mutations.ts';

/** A form and its `Content-Type`. Strings contain bytes as Latin-1. */
export interface Form {
  /** The parameters of `Content-Type`, after `multipart/form-data`. */
  readonly parameters: string;
  readonly body: string;
}

export const FILE = 'Content-Disposition: form-data; name="file"; filename="new.txt"';
export const PREFIX = 'Content-Disposition: form-data; name="prefix"';

/** Returns the headers of a request that uploads a form. */
export const headOf = ({ parameters, body }: Form, headers = `Content-Length: ${body.length}`) =>
  `POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data${parameters}\r\n${headers}\r\n\r\n`;

/** Returns a body in chunks of this size, each with an extension. */
export const chunked = (body: string, size: number) => {
  const chunks = Array.from({ length: Math.ceil(body.length / size) }, (_, index) =>
    body.slice(index * size, (index + 1) * size),
  );
  return [...chunks, ''].map((chunk) => `${chunk.length.toString(16)};x="y"\r\n${chunk}\r\n`).join('');
};

/** Boundaries with all permitted characters: RFC 2046, section 5.1.1. */
const boundary = fc.oneof(
  fc.constantFrom(
    'b',
    '-',
    '--',
    'x'.repeat(70),
    "'()+_,-./:=? b",
    '----WebKitFormBoundary7MA4YWxkTrZu0gW',
    '=_=',
    'b--',
  ),
  fc.string({ unit: fc.constantFrom('a', 'b', 'A', 'B', '0', '-'), minLength: 1, maxLength: 70 }),
);

const content = fc.oneof(
  fc.constantFrom(
    '',
    'x',
    '\r\n',
    '\r\n\r\n',
    '--b',
    '\r\n--',
    '\r\n-',
    '\n--b\r\n',
    '\0\xff',
    'x'.repeat(70_000),
    '\r'.repeat(300),
  ),
  fc.constant(`--inner\r\n${FILE}\r\n\r\ninner\r\n--inner--\r\n`),
  fc.string({ unit: fc.constantFrom('\r', '\n', '-', 'b', '\0', '\xff'), maxLength: 60 }),
);

/** Headers without an effect. */
const otherHeaders = fc.array(
  fc.constantFrom(
    'Content-Type: text/plain',
    'Content-Type: multipart/mixed; boundary=inner',
    'Content-Transfer-Encoding: base64',
    'Content-Length: 99999',
    'X-Other:',
    'X-Other: \xff\xfe',
    'content-type:\timage/png',
    `X-Long: ${'y'.repeat(2000)}`,
  ),
  { maxLength: 3 },
);

/** Valid forms with unusual syntax. */
export const validForm = fc
  .record({
    boundary,
    content,
    others: fc.array(fc.tuple(otherHeaders, content), { maxLength: 3 }),
    headers: otherHeaders,
    disposition: fc.constantFrom(
      FILE,
      'CONTENT-DISPOSITION: Form-Data; NAME=file; FileName="new.txt"',
      'content-disposition:form-data ;filename=new.txt;  name="file"',
      `${FILE}; filename*=UTF-8''other.txt`,
    ),
    where: fc.nat({ max: 3 }),
    prefix: fc.constantFrom(undefined, '', 'f', 'f/', 'new/folder'),
    preamble: fc.constantFrom('', '\r\n', 'preamble\r\n', '-\r\n'),
    epilogue: fc.constantFrom('', '\r\n', '\r\nepilogue', '\r\n\r\n--'),
  })
  .map((drawn) => {
    const parts = drawn.others.map(
      ([headers, text], index) => [[`Content-Disposition: form-data; name="other${index}"`, ...headers], text] as const,
    );
    const file = [[...drawn.headers, drawn.disposition], drawn.content] as const;
    const all = [...parts.slice(0, drawn.where), file, ...parts.slice(drawn.where)];
    const prefixed = drawn.prefix === undefined ? all : [...all, [[PREFIX], drawn.prefix] as const];
    const delimiter = `--${drawn.boundary}`;
    const written = prefixed.map(([headers, text]) => `${delimiter}\r\n${headers.join('\r\n')}\r\n\r\n${text}\r\n`);
    const body = `${drawn.preamble}${written.join('')}${delimiter}--${drawn.epilogue}`;
    const folder = drawn.prefix === undefined || drawn.prefix === '' ? '' : `${drawn.prefix.replace(/\/$/, '')}/`;
    return { ...drawn, body, parameters: `; boundary="${drawn.boundary}"`, path: `${folder}new.txt` };
  })
  // A text that contains the delimiter would make it another form.
  .filter(({ boundary: chosen, content: text, others, preamble, epilogue }) =>
    [text, ...others.map(([, other]) => other), preamble, epilogue].every(
      (each) => !`\r\n${each}\r\n`.includes(`\r\n--${chosen}`),
    ),
  );

/** Replacements in a form. */
const TOKENS = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  '--',
  '\r\n--b\r\n',
  '\r\n--b--\r\n',
  '--b',
  '\0',
  '\xff',
  '\xc0\xae',
  '"',
  '\\"',
  '\\',
  ';',
  '=',
  `\r\n--b\r\n${FILE}\r\n\r\nsecond\r\n`,
  `\r\n--b\r\n${PREFIX}\r\n\r\n../..\r\n`,
  `\r\n--b\r\n\r\nno headers`,
  '\r\n--b\r\n'.repeat(150),
  '; filename="other"',
  "; filename*=UTF-8''%2e%2e%2fx",
  '; filename*0="a"',
  '; name="prefix"',
  'filename="a\r\nX: y"',
  ' filename="\xff"',
  'Content-Transfer-Encoding: quoted-printable\r\n',
  'Content-Type: multipart/mixed; boundary=b\r\n',
  'Content-Disposition: attachment\r\n',
  '..',
  '/',
  '../',
  '.holdall/',
  '%00',
  '%0d%0a',
  '\x7f',
  '\u0085',
  'x'.repeat(300),
  'x'.repeat(17_000),
  ' folded\r\n',
  ': ',
];

const parameters = fc.oneof(
  { weight: 6, arbitrary: fc.constant('; boundary=b') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      ';',
      '; boundary',
      '; boundary=',
      '; boundary=""',
      '; boundary="b',
      `; boundary=${'b'.repeat(71)}`,
      '; boundary="\\b"',
      '; boundary=b; boundary=c',
      '; boundary=c; boundary=b',
      ';boundary=\xff',
      '; boundary=--b',
      '; charset=x; boundary=b',
      '; boundary="b "',
      "; boundary*=UTF-8''b",
      '; boundary=(b)',
      '; boundary= b',
    ),
  },
);

const OTHERS = [`${PREFIX}\r\n\r\nf`, 'Content-Disposition: form-data; name="other"\r\n\r\nother'];

const plainForm = fc
  .record({
    others: fc.shuffledSubarray(OTHERS),
    isFirst: fc.boolean(),
    lineEnd: fc.oneof(
      { weight: 9, arbitrary: fc.constant('\r\n') },
      { weight: 1, arbitrary: fc.constantFrom('\n', '\r') },
    ),
  })
  .map(({ others, isFirst, lineEnd }) => {
    const file = `${FILE}\r\nContent-Type: text/plain\r\n\r\n${'the new text '.repeat(20)}`;
    const parts = isFirst ? [file, ...others] : [...others, file];
    return `${parts.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`.replaceAll('\r\n', lineEnd);
  });

/** Almost valid forms. */
export const almostValidForm: fc.Arbitrary<Form> = fc.record({ parameters, body: mutated(plainForm, TOKENS) });
