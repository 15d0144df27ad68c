import { useEffect, useState } from 'preact/hooks';
import type { MORE_ICONS } from './more-icons.ts';

/** Renders an icon. Screen readers ignore it, so its meaning must also be in words. */
export function Icon({ name, class: className = '' }: { name: IconName; class?: string }) {
  const classes = ['icon', DIRECTIONAL.has(name) && 'directional', className];
  return (
    <svg class={classes.filter(Boolean).join(' ')} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <use href={`#icon-${name}`} />
    </svg>
  );
}

/** Renders the sprite that all icons refer to. Adds the icons that the first load lacks. */
export function Sprite() {
  const [more, setMore] = useState({});
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const load = () =>
      void import('./more-icons.ts').then(
        ({ MORE_ICONS }) => setMore(MORE_ICONS),
        () => {
          timer = setTimeout(load, RETRY_DELAY_MS);
        },
      );
    load();
    return () => clearTimeout(timer);
  }, []);
  return (
    <svg class="visually-hidden" aria-hidden="true">
      {Object.entries<string>({ ...PATHS, ...more }).map(([name, path]) => (
        <symbol key={name} id={`icon-${name}`} viewBox="0 0 20 20">
          <path d={path} />
        </symbol>
      ))}
    </svg>
  );
}

/** The delay before the icons are requested again after a failure. */
const RETRY_DELAY_MS = 10_000;

export type IconName = keyof typeof PATHS | keyof typeof MORE_ICONS;

/** The icons that point in reading direction. Right-to-left pages mirror them. */
const DIRECTIONAL = new Set<IconName>([
  'chevron-left',
  'chevron-right',
  'list',
  'move',
  'sign-out',
  'redo',
  'sidebar',
  'undo',
  'wrap',
]);

/** A sheet of paper with a folded corner. */
const PAGE =
  'M5.75 2.75h5.5l4 4v9a1.5 1.5 0 0 1-1.5 1.5h-8a1.5 1.5 0 0 1-1.5-1.5v-11.5a1.5 1.5 0 0 1 1.5-1.5zM11 2.75v4.25h4.25';

/**
 * The icons of the first view as the `d` attributes of paths: lines of 1.5 px in a square of 20 px. All others are in
 * `more-icons.ts`.
 */
const PATHS = {
  folder:
    'M2.75 5.75a1.5 1.5 0 0 1 1.5-1.5h3.4l2 2h6.1a1.5 1.5 0 0 1 1.5 1.5v6.5a1.5 1.5 0 0 1-1.5 1.5H4.25a1.5 1.5 0 0 1-1.5-1.5z',
  file: PAGE,
  image:
    'M4.25 3.25h11.5a1.5 1.5 0 0 1 1.5 1.5v10.5a1.5 1.5 0 0 1-1.5 1.5H4.25a1.5 1.5 0 0 1-1.5-1.5V4.75a1.5 1.5 0 0 1 1.5-1.5zM8.75 7.5a1.25 1.25 0 1 1-2.5 0 1.25 1.25 0 0 1 2.5 0zM17 12.5l-2.4-2.4a1.5 1.5 0 0 0-2.1 0L6 16.5',
  video:
    'M4.25 3.25h11.5a1.5 1.5 0 0 1 1.5 1.5v10.5a1.5 1.5 0 0 1-1.5 1.5H4.25a1.5 1.5 0 0 1-1.5-1.5V4.75a1.5 1.5 0 0 1 1.5-1.5zM8.25 7v6l5-3z',
  audio: 'M7.25 14.75a2 2 0 1 1-4 0 2 2 0 0 1 4 0zm0 0V5l9-1.75v9.5m0 0a2 2 0 1 1-4 0 2 2 0 0 1 4 0z',
  pdf: `${PAGE}M7 14.75c2-.9 3.1-3.1 3-4.75.9 3 1.9 4.1 3 4-1.9-.6-4.1-.2-6 .75z`,
  word: `${PAGE}M6.75 10.25l1.5 4.5L10 10.5l1.75 4.25 1.5-4.5`,
  excel: `${PAGE}M7.75 10.25l4.5 4.75M12.25 10.25L7.75 15`,
  powerpoint: `${PAGE}M8.25 15.25v-5h2.25a1.6 1.6 0 0 1 0 3.25H8.25`,
  document: `${PAGE}M7 10.5h6M7 13.5h4`,
  text: `${PAGE}M7 7.25h1.5M7 10.5h6M7 13.5h6`,
  table:
    'M4.25 3.75h11.5a1.5 1.5 0 0 1 1.5 1.5v9.5a1.5 1.5 0 0 1-1.5 1.5H4.25a1.5 1.5 0 0 1-1.5-1.5v-9.5a1.5 1.5 0 0 1 1.5-1.5zM2.75 8h14.5M2.75 12h14.5M8 3.75v12.5',
  archive: `${PAGE}M8.5 3v1.5M8.5 6v1.5M8.5 9v1.5M9.75 14a1.25 1.25 0 1 1-2.5 0 1.25 1.25 0 0 1 2.5 0zM8.5 10.5v2.25`,
  code: 'M7 6.25 3.25 10 7 13.75M13 6.25 16.75 10 13 13.75M11.25 4.5l-2.5 11',
  upload: 'M10 12.75v-9M6.25 7.25 10 3.5l3.75 3.75M3.25 12.75v2a1.5 1.5 0 0 0 1.5 1.5h10.5a1.5 1.5 0 0 0 1.5-1.5v-2',
  'new-folder':
    'M17.25 9.5V7.75a1.5 1.5 0 0 0-1.5-1.5h-6.1l-2-2h-3.4a1.5 1.5 0 0 0-1.5 1.5v8.5a1.5 1.5 0 0 0 1.5 1.5h6M15 12v5.5M12.25 14.75h5.5',
  delete:
    'M3.75 5.75h12.5M8 5.5V4.25a1 1 0 0 1 1-1h2a1 1 0 0 1 1 1V5.5M5.25 5.75l.7 9.6a1.5 1.5 0 0 0 1.5 1.4h5.1a1.5 1.5 0 0 0 1.5-1.4l.7-9.6M8.5 9v4.5M11.5 9v4.5',
  details: 'M10 17.25a7.25 7.25 0 1 1 0-14.5 7.25 7.25 0 0 1 0 14.5zM10 9.25v4.25M10 6.5h.01',
  sidebar:
    'M4.25 3.75h11.5a1.5 1.5 0 0 1 1.5 1.5v9.5a1.5 1.5 0 0 1-1.5 1.5H4.25a1.5 1.5 0 0 1-1.5-1.5v-9.5a1.5 1.5 0 0 1 1.5-1.5zM7.75 3.75v12.5M5 6.75h.75M5 9.25h.75',
  search: 'M8.75 14.25a5.5 5.5 0 1 1 0-11 5.5 5.5 0 0 1 0 11zM12.75 12.75l4 4',
  list: 'M7.25 5.25h9.5M7.25 10h9.5M7.25 14.75h9.5M3.75 5.25h.01M3.75 10h.01M3.75 14.75h.01',
  grid: 'M3.75 3.75h4.5v4.5h-4.5zM11.75 3.75h4.5v4.5h-4.5zM3.75 11.75h4.5v4.5h-4.5zM11.75 11.75h4.5v4.5h-4.5z',
  more: 'M5.25 10a.5.5 0 1 1-1 0 .5.5 0 0 1 1 0zM10.5 10a.5.5 0 1 1-1 0 .5.5 0 0 1 1 0zM15.75 10a.5.5 0 1 1-1 0 .5.5 0 0 1 1 0z',
  'chevron-right': 'M7.75 4.75 13 10l-5.25 5.25',
  'chevron-down': 'M4.75 7.75 10 13l5.25-5.25',
  'chevron-up': 'M4.75 12.25 10 7l5.25 5.25',
  account: 'M13.25 6.75a3.25 3.25 0 1 1-6.5 0 3.25 3.25 0 0 1 6.5 0zM3.75 16.5c.8-2.6 3.2-4 6.25-4s5.45 1.4 6.25 4',
  settings:
    'M3.25 6.25h7.5M14.25 6.25h2.5M3.25 13.75h2.5M9.25 13.75h7.5M12.5 8a1.75 1.75 0 1 1 0-3.5 1.75 1.75 0 0 1 0 3.5zM7.5 15.5a1.75 1.75 0 1 1 0-3.5 1.75 1.75 0 0 1 0 3.5z',
} as const satisfies Readonly<Record<string, string>>;
