import { Fragment } from 'preact';
import { type Media, readMedia } from '../../platform/service/media.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { useLoaded } from '../../ui/loading.ts';
import { useService } from '../models.ts';
import { Fact } from './fact.tsx';

/** Shows what the file of a photo says about it. Shows nothing for a file without such data. */
export function PhotoFacts({ file: { path, etag } }: { file: FileEntry }) {
  const service = useService();
  const loaded = useLoaded((signal) => readMedia(service, path, signal), [path, etag]);
  return loaded.state === 'ready' ? <Facts media={loaded.value} /> : null;
}

function Facts({ media: { width, height, takenAt, camera, lens, location, ...exposure } }: { media: Media }) {
  const { text, formats } = useFullLanguage();
  const { details } = text;
  const number = (value: number, digits: number) =>
    new Intl.NumberFormat(formats.locale, { maximumFractionDigits: digits, useGrouping: false }).format(value);
  const parts = exposureOf(exposure, number, details);
  const taken = takenAt === undefined ? undefined : parseLocalTime(takenAt);
  return (
    <>
      <Fact name={details.dimensions}>
        <span class="numbers">
          <bdi>{`${number(width, 0)} × ${number(height, 0)}`}</bdi>
          <span class="secondary">{details.megapixels({ value: number((width * height) / 1e6, 1) })}</span>
        </span>
      </Fact>
      {taken && (
        <Fact name={details.takenAt}>
          <time dateTime={takenAt}>{formatLocalTime(taken, formats.locale)}</time>
        </Fact>
      )}
      {camera !== undefined && (
        <Fact name={details.camera}>
          <bdi>{camera}</bdi>
        </Fact>
      )}
      {lens !== undefined && (
        <Fact name={details.lens}>
          <bdi>{lens}</bdi>
        </Fact>
      )}
      {parts.length > 0 && (
        <Fact name={details.exposure}>
          <span class="numbers">
            {parts.map((part, index) => (
              <Fragment key={part}>
                {index > 0 && ' · '}
                <bdi>{part}</bdi>
              </Fragment>
            ))}
          </span>
        </Fact>
      )}
      {location && <Location {...location} />}
    </>
  );
}

type Exposure = Pick<Media, 'exposureTime' | 'aperture' | 'focalLength' | 'iso'>;

/** Returns the settings of the exposure that are known: `1/250 s`, `ƒ/2.8`, `35 mm`, `ISO 400`. */
function exposureOf(
  { exposureTime, aperture, focalLength, iso }: Exposure,
  number: (value: number, digits: number) => string,
  details: ReturnType<typeof useFullLanguage>['text']['details'],
): readonly string[] {
  const time =
    exposureTime === undefined || exposureTime >= MAX_FRACTION_SECONDS || exposureTime <= 0
      ? number(exposureTime ?? 0, 1)
      : `${number(1, 0)}/${number(1 / exposureTime, 0)}`;
  return [
    exposureTime !== undefined && details.shutter({ time }),
    aperture !== undefined && details.aperture({ value: number(aperture, 1) }),
    focalLength !== undefined && details.focalLength({ value: number(focalLength, 1) }),
    iso !== undefined && details.iso({ value: number(iso, 0) }),
  ].filter((part) => part !== false);
}

/** Cameras show shorter exposures as fractions of a second. */
const MAX_FRACTION_SECONDS = 0.3;

/** The position, with a link to a map. The map is another website, which gets the position only if the user follows the link. */
function Location({ latitude, longitude }: { latitude: number; longitude: number }) {
  const { text, formats } = useFullLanguage();
  const degrees = new Intl.NumberFormat(formats.locale, { minimumFractionDigits: 5, maximumFractionDigits: 5 });
  const [north, east] = [latitude.toFixed(5), longitude.toFixed(5)];
  return (
    <Fact name={text.details.location}>
      <bdi class="numbers">{`${degrees.format(latitude)}, ${degrees.format(longitude)}`}</bdi>
      <a
        class="map"
        href={`https://www.openstreetmap.org/?mlat=${north}&mlon=${east}#map=15/${north}/${east}`}
        target="_blank"
        rel="noopener noreferrer"
      >
        {text.details.openMap}
      </a>
    </Fact>
  );
}

/** Parses a local time without its offset, because users remember the time of the place. Undefined if it is invalid. */
function parseLocalTime(takenAt: string): Date | undefined {
  const local = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}/.exec(takenAt)?.[0];
  const time = new Date(`${local}Z`);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

function formatLocalTime(time: Date, locale: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'short', timeZone: 'UTC' }).format(time);
}
