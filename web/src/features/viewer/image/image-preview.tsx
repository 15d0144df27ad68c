import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { hasThumbnail } from '../../../platform/file-kinds.ts';
import { isSvg, previewKindOf } from '../../../platform/preview-kinds.ts';
import { readMedia } from '../../../platform/service/media.ts';
import type { FileEntry } from '../../../platform/service/service.ts';
import { type Text, useFullLanguage } from '../../../platform/text/language.ts';
import { Button } from '../../../ui/button.tsx';
import { useLoaded } from '../../../ui/loading.ts';
import { useFolder, useService, useUrls } from '../../models.ts';
import { contentUrl } from '../content-url.ts';
import { ContentProblem, FailedElement, NoPreview } from '../file-notices.tsx';
import { Loading, NotLoadedNotice } from '../notices.tsx';
import { type PreviewProps, useTools, type ViewerState, type ViewerTool } from '../viewer-tools.ts';
import { WorkerNotLoaded } from '../worker/run-job.ts';
import { PictureElement } from './picture-element.tsx';
import { isRarelySupported, isSmaller, type Picture, pictureOf, picturesOf } from './pictures.ts';
import { readSvg } from './read-svg.ts';
import { useRotation } from './rotation.ts';
import { type Size, type Surface, sizeOfPicture } from './surface.ts';
import { useZoom, type ZoomControl } from './zoom.ts';
import './image-preview.css';

/**
 * Shows an image fitted to the window, which the user can zoom and move. The `img` element runs no scripts of an SVG.
 */
export function ImagePreview({ entry, viewer }: PreviewProps) {
  const { text } = useFullLanguage();
  const urls = useUrls();
  /** The URLs that could not be shown. */
  const [failed, setFailed] = useState<readonly string[]>([]);
  const reduced = useMemo(() => pictureOf(urls, entry), [entry.path, entry.etag]);
  const original = { url: contentUrl(urls, entry), width: undefined };
  // The service might be busy or unable to reduce the file.
  const picture = failed.includes(reduced.url) && !isRarelySupported(entry) ? original : reduced;
  if (!failed.includes(picture.url)) {
    const image = { entry, viewer, onFail: () => setFailed([...failed, picture.url]) };
    return isSvg(entry) ? <SvgImage {...image} /> : <Photo {...image} picture={picture} />;
  }
  const { noPreview, imageFailed, imageFailedHint } = text.previews;
  const reasons = isRarelySupported(entry) ? { reason: noPreview } : { reason: imageFailed, hint: imageFailedHint };
  return <FailedElement entry={entry} {...reasons} onRetry={() => setFailed([])} />;
}

interface PhotoProps extends PreviewProps {
  picture: Picture;
  onFail: () => void;
}

/** Shows an SVG unless drawing it would block the page. The user can show it anyway. */
function SvgImage({ entry, viewer, onFail }: Omit<PhotoProps, 'picture'>) {
  const urls = useUrls();
  const service = useService();
  const { text } = useFullLanguage();
  const [isForced, setForced] = useState(false);
  const loaded = useLoaded((signal) => readSvg(service, entry, signal));
  const file = loaded.state === 'ready' ? loaded.value : undefined;
  // The examined bytes: the file can be replaced in the meantime.
  const source = useMemo(() => file && URL.createObjectURL(svgOf(file.bytes)), [file]);
  useEffect(() => () => source && URL.revokeObjectURL(source), [source]);

  const drawn = file && (file.isLight || isForced) ? source : undefined;
  const shown = drawn ?? (isForced ? contentUrl(urls, entry) : undefined);
  if (shown !== undefined) return <Photo {...{ entry, viewer, onFail }} picture={{ url: shown, width: undefined }} />;
  if (loaded.state === 'loading') return <Loading />;
  if (loaded.state === 'failed') return <SvgProblem entry={entry} error={loaded.error} onRetry={loaded.retry} />;
  const { svgTooComplex, svgTooComplexHint, showAnyway } = text.previews;
  const action = <Button onClick={() => setForced(true)}>{showAnyway}</Button>;
  return <NoPreview entry={entry} reason={svgTooComplex} hint={svgTooComplexHint} action={action} />;
}

const svgOf = (bytes: Uint8Array) => new Blob([new Uint8Array(bytes)], { type: 'image/svg+xml' });

function SvgProblem({ entry, error, onRetry }: { entry: FileEntry; error: Error; onRetry: () => void }) {
  if (error instanceof WorkerNotLoaded) return <NotLoadedNotice retry={onRetry} />;
  return <ContentProblem {...{ entry, error, onRetry }} />;
}

function Photo({ entry, viewer, picture: wanted, onFail }: PhotoProps) {
  const stage = useRef<HTMLDivElement>(null);
  const surface = useRef<Surface>(null);
  const { text, formats } = useFullLanguage();
  const rotation = useRotation(entry);
  const picture = useLatestPicture(viewer, wanted, rotation.settle);
  const [isLoaded, setLoaded] = useState(() => picturesOf(viewer).isReady(picture.url));
  const isReduced = isLoaded && surface.current !== null && isSmaller(picture, sizeOfPicture(surface.current));
  const original = useOriginalSize(entry, isReduced);
  const control = useZoom(stage, surface, original);
  const { scale, x, y } = control.zoom.value;
  const isEnlarged = scale > 1;
  const transform = `translate(${x}px, ${y}px) scale(${scale})`;
  const classes = [
    'picture',
    isLoaded && 'loaded',
    control.isStep.value && 'step',
    mayHaveAlpha(entry) && 'alpha',
    rotation.turns !== 0 && 'turned',
  ];

  const { turn, isUnsupported } = rotation;
  const canTurn = turn !== undefined;
  const rotate = (by: 1 | -1) => {
    control.fit();
    turn?.(by);
  };
  useTools(
    viewer,
    () => [...toolsOf(control, isEnlarged, text), ...rotationTools(rotate, { canTurn, isUnsupported }, text)],
    [isEnlarged, canTurn, isUnsupported, text],
  );
  useNeighbours(viewer, entry, picture, isLoaded);
  useEffect(() => {
    if (isLoaded) viewer.shownPhoto.value = entry.path;
  }, [isLoaded]);

  return (
    <div ref={stage} class={`image-preview ${isEnlarged ? 'enlarged' : ''}`}>
      {!isLoaded && <Placeholder entry={entry} />}
      <PictureElement
        {...{ viewer, picture, surface, isLoaded }}
        key={picture.width === undefined}
        name={entry.name}
        class={classes.filter(Boolean).join(' ')}
        style={{ transform, ...turnedStyle(rotation.turns, stage.current, surface.current) }}
        onLoad={() => setLoaded(true)}
        onFail={onFail}
      />
      {isEnlarged && <Detail {...{ entry, picture, surface, scale, transform }} />}
      <output class={isEnlarged ? 'percentage' : 'visually-hidden'}>
        {isEnlarged && text.previews.zoom({ percentage: formats.percent(control.percentage(control.zoom.value)) })}
      </output>
    </div>
  );
}

/**
 * Returns the picture to show: the wanted one, or the one before until the wanted one is decoded. `onReplaced` is called with the
 * first frame of the wanted one.
 */
function useLatestPicture(viewer: ViewerState, wanted: Picture, onReplaced: () => void): Picture {
  const [shown, setShown] = useState(wanted);
  useEffect(() => {
    if (wanted.url === shown.url) return undefined;
    let isCurrent = true;
    const replace = () => {
      if (!isCurrent) return;
      setShown(wanted);
      onReplaced();
    };
    // If it fails, the element reports that.
    picturesOf(viewer).load(wanted).then(replace, replace);
    return () => {
      isCurrent = false;
    };
  }, [wanted.url, shown.url]);
  return shown;
}

/** Turns a picture in its stage, so that all of it remains visible. */
function turnedStyle(turns: number, stage: HTMLElement | null, image: HTMLElement | null) {
  if (turns === 0 || !stage || !image) return {};
  const isSideways = turns % 2 !== 0;
  const fit = Math.min(stage.clientWidth / image.offsetHeight, stage.clientHeight / image.offsetWidth);
  return { rotate: `${turns * 90}deg`, scale: isSideways ? String(fit) : '1' };
}

/** Formats that can be transparent, so that the checkerboard below them is visible. */
function mayHaveAlpha({ contentType }: FileEntry): boolean {
  return !/^image\/(p?jpeg|jpg|tiff|hei[cf]|bmp)\b/i.test(contentType);
}

/** Prepares the photos around the shown one, except SVG: drawing one can block the page. */
function useNeighbours(viewer: ViewerState, entry: FileEntry, picture: Picture, isLoaded: boolean): void {
  const urls = useUrls();
  const folder = useFolder();
  useEffect(() => {
    if (!isLoaded) return;
    const files = folder.entries.peek().filter((file) => file.type === 'file');
    const index = files.findIndex((file) => file.path === entry.path);
    const around = [files[index + 1], files[index - 1], files[index + 2]]
      .filter((file) => file !== undefined)
      .filter((file) => !isSvg(file) && previewKindOf(file) === 'image' && file.etag !== '')
      .map((file) => ({ ...pictureOf(urls, file), size: file.size }))
      .filter(({ width, size }) => width !== undefined || size <= MAX_PRELOADED_BYTES);
    picturesOf(viewer).keep([picture, ...around]);
  }, [isLoaded, picture.url]);
}

/** The maximum size in bytes of a preloaded original. */
const MAX_PRELOADED_BYTES = 12e6;

/** Returns the size of the original in pixels; undefined if the picture has it, or if it is unknown. */
function useOriginalSize({ path, etag }: FileEntry, isReduced: boolean): Size | undefined {
  const service = useService();
  const loaded = useLoaded(
    async (signal) => (isReduced ? await readMedia(service, path, signal) : undefined),
    [isReduced, etag],
  );
  return loaded.state === 'ready' ? loaded.value : undefined;
}

interface DetailProps {
  entry: FileEntry;
  picture: Picture;
  surface: RefObject<Surface | null>;
  scale: number;
  transform: string;
}

/** The original of a reduced picture, once the user zooms in beyond the pixels of the picture. */
function Detail({ entry, picture, surface: { current }, scale, transform }: DetailProps) {
  const urls = useUrls();
  const [isDecoded, setDecoded] = useState(false);
  const isNeeded = useRef(false);
  if (!current || !isSmaller(picture, sizeOfPicture(current)) || isRarelySupported(entry)) return null;
  const pixels = scale * current.offsetWidth * window.devicePixelRatio;
  isNeeded.current ||= pixels > sizeOfPicture(current).width * MAX_STRETCH;
  if (!isNeeded.current) return null;
  return (
    <img
      class={`detail ${isDecoded ? 'decoded' : ''}`}
      style={{ transform, inlineSize: `${current.offsetWidth}px`, blockSize: `${current.offsetHeight}px` }}
      src={contentUrl(urls, entry)}
      alt=""
      draggable={false}
      onLoad={({ currentTarget }) =>
        void currentTarget.decode().then(
          () => setDecoded(true),
          () => {},
        )
      }
    />
  );
}

/** Screen pixels per pixel of the picture above which the original is sharper. */
const MAX_STRETCH = 1.1;

/** Shows the thumbnail, blurred, until the image has loaded. */
function Placeholder({ entry }: { entry: FileEntry }) {
  const urls = useUrls();
  const [isLoaded, setLoaded] = useState(false);
  if (!hasThumbnail(entry)) return null;
  const url = urls.thumbnail(entry.path, entry.etag);
  return <img class={`placeholder ${isLoaded ? 'loaded' : ''}`} src={url} alt="" onLoad={() => setLoaded(true)} />;
}

/** Pixels that an arrow key moves an enlarged image. */
const ARROW_STEP = 80;

function toolsOf({ step, fit, move }: ZoomControl, isEnlarged: boolean, { previews }: Text): readonly ViewerTool[] {
  const arrows: readonly ViewerTool[] = [
    { id: 'left', keys: ['ArrowLeft'], run: () => move({ x: ARROW_STEP, y: 0 }) },
    { id: 'right', keys: ['ArrowRight'], run: () => move({ x: -ARROW_STEP, y: 0 }) },
    { id: 'up', keys: ['ArrowUp'], run: () => move({ x: 0, y: ARROW_STEP }) },
    { id: 'down', keys: ['ArrowDown'], run: () => move({ x: 0, y: -ARROW_STEP }) },
  ];
  return [
    {
      id: 'out',
      button: { icon: 'zoom-out', label: previews.zoomOut, disabled: !isEnlarged },
      keys: ['-', '_'],
      run: () => step(1 / 1.5),
    },
    { id: 'in', button: { icon: 'zoom-in', label: previews.zoomIn }, keys: ['+', '='], run: () => step(1.5) },
    { id: 'fit', button: { icon: 'fit', label: previews.fit, disabled: !isEnlarged }, keys: ['0'], run: fit },
    // While the whole image is visible, the arrow keys open the next and the previous file.
    ...(isEnlarged ? arrows : []),
  ];
}

function rotationTools(
  rotate: (by: 1 | -1) => void,
  { canTurn, isUnsupported }: { canTurn: boolean; isUnsupported: boolean },
  { previews }: Text,
): readonly ViewerTool[] {
  if (isUnsupported) {
    const button = { icon: 'rotate-right', label: previews.rotatesOnlyJpeg, disabled: true } as const;
    return [{ id: 'rotate-right', button, keys: [], run: () => {} }];
  }
  if (!canTurn) return [];
  return [
    {
      id: 'rotate-left',
      button: { icon: 'rotate-left', label: previews.rotateLeft },
      keys: ['shift+r'],
      run: () => rotate(-1),
    },
    {
      id: 'rotate-right',
      button: { icon: 'rotate-right', label: previews.rotateRight },
      keys: ['r'],
      run: () => rotate(1),
    },
  ];
}
