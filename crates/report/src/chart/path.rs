//! Lines and areas as SVG path data, without detail that cannot be seen.

use std::fmt::Write as _;

/// Coordinates on the paper, x and y.
pub(crate) type Coordinates = [f64; 2];

/// The largest distance of a path from its points, in pixels.
const TOLERANCE: f64 = 0.25;

/// The path data of an open line through `places`.
pub(crate) fn line(places: &[Coordinates]) -> String {
    let mut data = String::new();
    append(&mut data, &simplified(&thinned(places)));
    data
}

/// The path data of the area between two lines that run from left to right.
pub(crate) fn area(upper: &[Coordinates], lower: &[Coordinates]) -> String {
    let mut outline = simplified(&thinned(upper));
    outline.extend(simplified(&thinned(lower)).into_iter().rev());
    let mut data = String::new();
    append(&mut data, &outline);
    if !data.is_empty() {
        data.push('Z');
    }
    data
}

/// Vertical strokes as one path: one end, and y of the other end.
pub(crate) fn upright(strokes: impl Iterator<Item = (Coordinates, f64)>) -> String {
    commands(strokes, 'V')
}

/// Horizontal strokes as one path: one end, and x of the other end.
pub(crate) fn level(strokes: impl Iterator<Item = (Coordinates, f64)>) -> String {
    commands(strokes, 'H')
}

fn commands(strokes: impl Iterator<Item = (Coordinates, f64)>, command: char) -> String {
    let mut data = String::new();
    for ([x, y], to) in strokes {
        write!(data, "M{},{}{command}{}", number(x), number(y), number(to))
            .expect("writing to a string cannot fail");
    }
    data
}

fn append(data: &mut String, places: &[Coordinates]) {
    for (index, [x, y]) in places.iter().enumerate() {
        let command = if index == 0 { "M" } else { " " };
        write!(data, "{command}{},{}", number(*x), number(*y))
            .expect("writing to a string cannot fail");
    }
}

/// A coordinate with one decimal at most.
pub(crate) fn number(value: f64) -> String {
    let tenths = (value * 10.0).round();
    if tenths % 10.0 == 0.0 {
        format!("{}", tenths / 10.0 + 0.0)
    } else {
        format!("{:.1}", tenths / 10.0)
    }
}

/// Keeps the first, the extreme and the last places of each pixel column; a line
/// through them looks the same.
fn thinned(places: &[Coordinates]) -> Vec<Coordinates> {
    let column = |place: &Coordinates| place[0].round() as i64;
    places
        .chunk_by(|a, b| column(a) == column(b))
        .flat_map(|places| {
            let extreme = |sign: f64| {
                (0..places.len())
                    .max_by(|a, b| (sign * places[*a][1]).total_cmp(&(sign * places[*b][1])))
            };
            let mut kept: Vec<usize> =
                [Some(0), extreme(-1.0), extreme(1.0), places.len().checked_sub(1)]
                    .into_iter()
                    .flatten()
                    .collect();
            kept.sort_unstable();
            kept.dedup();
            kept.into_iter().map(|index| places[index])
        })
        .collect()
}

/// The places without those that lie on the line between their neighbours
/// (Douglas and Peucker, 1973), by a stack instead of recursion.
fn simplified(places: &[Coordinates]) -> Vec<Coordinates> {
    if places.len() < 3 {
        return places.to_vec();
    }
    let mut kept = vec![false; places.len()];
    kept[0] = true;
    kept[places.len() - 1] = true;
    let mut open = vec![(0, places.len() - 1)];
    while let Some((first, last)) = open.pop() {
        let farthest = (first + 1..last)
            .map(|index| (index, distance(places[index], places[first], places[last])))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((index, away)) = farthest
            && away > TOLERANCE
        {
            kept[index] = true;
            open.extend([(first, index), (index, last)]);
        }
    }
    places.iter().zip(kept).filter_map(|(place, kept)| kept.then_some(*place)).collect()
}

/// The distance of `place` from the line through two others.
fn distance(place: Coordinates, from: Coordinates, to: Coordinates) -> f64 {
    let along = [to[0] - from[0], to[1] - from[1]];
    let away = [place[0] - from[0], place[1] - from[1]];
    let length = along[0].hypot(along[1]);
    if length < 1e-9 {
        return away[0].hypot(away[1]);
    }
    (along[0] * away[1] - along[1] * away[0]).abs() / length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_needs_two_points() {
        let places: Vec<Coordinates> =
            (0..100).map(|x| [f64::from(x), f64::from(x) * 0.5]).collect();
        assert_eq!(line(&places), "M0,0 99,49.5");
    }

    #[test]
    fn a_peak_survives() {
        let mut places: Vec<Coordinates> =
            (0..10_000).map(|x| [f64::from(x) / 100.0, 50.0]).collect();
        places[5_000][1] = 3.0;
        let data = line(&places);
        assert!(data.contains(",3"), "{data}");
        assert!(data.len() < 100, "{data}");
    }

    #[test]
    fn noise_is_bounded_by_the_width_of_the_paper() {
        let places: Vec<Coordinates> = (0..100_000_u32)
            .map(|x| [f64::from(x) / 1000.0, f64::from(x.wrapping_mul(2_654_435_761) % 300)])
            .collect();
        assert!(line(&places).split(' ').count() <= 4 * 101);
    }

    #[test]
    fn strokes_share_a_path() {
        let strokes = [([1.0, 2.0], 9.25), ([3.0, 4.0], 8.0)];
        assert_eq!(upright(strokes.into_iter()), "M1,2V9.3M3,4V8");
        assert_eq!(level(strokes.into_iter()), "M1,2H9.3M3,4H8");
    }

    #[test]
    fn an_area_is_closed() {
        assert_eq!(
            area(&[[0.0, 1.0], [9.0, 1.0]], &[[0.0, 5.0], [9.0, 5.25]]),
            "M0,1 9,1 9,5.3 0,5Z"
        );
        assert_eq!(area(&[], &[]), "");
    }
}
