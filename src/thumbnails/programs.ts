import type { SandboxProtection } from './sandbox.ts';

/** Kinds of files of which another program draws a still image. */
export const STILL_KINDS = ['video', 'pdf', 'heic'] as const;
export type StillKind = (typeof STILL_KINDS)[number];

/**
 * The programs that draw still images, of which one suffices: ffmpeg a frame of a video, pdftoppm of Poppler the first page
 * of a PDF, and heif-dec of libheif a HEIC image, because the libvips that npm installs has no decoder for HEVC. Before
 * libheif 1.19, its name was heif-convert.
 */
export const STILL_PROGRAMS = {
  video: ['ffmpeg'],
  pdf: ['pdftoppm'],
  heic: ['heif-dec', 'heif-convert'],
} as const satisfies Readonly<Record<StillKind, readonly string[]>>;

/** Returns the names of the programs of a kind, for messages. */
export const programNames = (kind: StillKind): string => STILL_PROGRAMS[kind].join(' or ');

/** The programs that make up the sandbox: bubblewrap, and prlimit of util-linux. */
export const SANDBOX_PROGRAMS = ['bwrap', 'prlimit'] as const;

/** What is installed to draw videos, PDFs and HEIC images. */
export interface FoundPrograms {
  /** The kinds of files that can be drawn. */
  readonly kinds: readonly StillKind[];
  /** The programs that are missing. */
  readonly missing: readonly string[];
  /** Whether libheif lacks the decoder of HEIC images, which Debian has in a package of its own. */
  readonly lacksHevc?: boolean;
  /** Why the sandbox does not start, although its programs are installed. */
  readonly sandboxError?: string;
  /** What the sandbox supports on this machine, if it starts. */
  readonly protection?: SandboxProtection;
}

/** Nothing: the setting turned it off. */
export const NO_PROGRAMS: FoundPrograms = { kinds: [], missing: [] };
