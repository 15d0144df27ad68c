import { encode } from 'uqr';
import { useFullLanguage } from '../../platform/text/language.ts';

/** The modules of the margin, as the standard of QR codes requires (ISO/IEC 18004). */
const MARGIN = 4;

/** The QR code of a URL, dark on light in both themes, because many readers don't recognize inverted codes. */
export function QrCode({ value }: { value: string }) {
  const { text } = useFullLanguage();
  const { data, size } = encode(value, { ecc: 'M', border: MARGIN });
  return (
    <svg class="qr-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={text.links.qrCode}>
      <path d={pathOf(data)} />
    </svg>
  );
}

/** Returns the dark modules as a path: one rectangle for each run in a row. */
export function pathOf(rows: readonly (readonly boolean[])[]): string {
  return rows
    .flatMap((row, y) =>
      row.flatMap((isDark, x) => {
        if (!isDark || row[x - 1] === true) return [];
        const end = row.indexOf(false, x);
        const width = (end < 0 ? row.length : end) - x;
        return [`M${x} ${y}h${width}v1h-${width}z`];
      }),
    )
    .join('');
}
